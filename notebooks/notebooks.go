// Package notebooks holds the notebooks of the project. Each is written in
// Markdown, NAME.md, where it can be reviewed and merged; NAME.ipynb is generated from it,
// without outputs, and a test demands that the two are in step.
//
//	make notebook              open the tour in Jupyter
//	go generate ./notebooks    write the .ipynb files afresh
//	make test-notebooks        execute all of them, without a browser and in one
//	make pages                 execute them for readers, into pages
//
// Folder docs has a page of all packages, generated too, a glossary, and code of other libraries
// beside ours.
package notebooks

//go:generate go run ./internal/generate
