// Package runs serves a page on which people watch and compare the cells of a
// store: tables and plots that grow as cells land, filter, sort, group, parallel
// coordinates, two cells side by side, the figures of a gallery, and downloads.
//
//	s, err := runs.New(store, runs.Options{Gallery: "out"})
//	http.Serve(listener, s)   // the page is at s.Path()
//
// The page is for the person who started it: the listener should be on the
// loopback interface, a request needs the token of this server, and must name
// this machine as its host, so that other pages in the same browser cannot read
// along. Nothing is loaded from anywhere else.
//
// A [Server] looks at the store once a second ([lab.Scanner]) and sends what has
// changed to every open page as server-sent events.
package runs
