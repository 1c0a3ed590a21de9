// Package runs serves a page for watching and comparing the cells of a store: tables and plots that
// grow as cells finish, filter, sort, group, parallel coordinates, two cells side by side, the
// figures of a gallery, and downloads.
//
//	page := runs.New(store, "out")
//	http.Serve(listener, page) // it is at page.Path()
//
// The page is only for the person who started it. The listener should be on the loopback interface.
// A request needs the token of this server and must name this machine as its host, so that other
// pages in the same browser cannot read the data. The page loads nothing from other servers.
//
// An open page asks once a second for changes; the [Server] then scans the store ([store.Scanner]).
package runs
