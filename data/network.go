package data

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// probeTime bounds how long a process waits to learn whether the servers of data sets answer.
const probeTime = 2 * time.Second

// reachable reports for each data set whether one of its servers answers. It asks all servers at
// once, one time in a process, through the proxy named by the environment.
var reachable = sync.OnceValue(func() map[string]bool {
	urls := map[string][]string{}
	for _, s := range sets() {
		last := s.files[len(s.files)-1]
		for _, base := range last.bases {
			urls[s.name] = append(urls[s.name], base+last.name)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	return probe(ctx, http.DefaultClient, urls)
})

// probe sends a HEAD request to every URL and returns the names for which one succeeds. It returns
// as soon as every name has a success.
func probe(ctx context.Context, client *http.Client, urls map[string][]string) map[string]bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var mu sync.Mutex
	out := map[string]bool{}
	for name, list := range urls {
		for _, url := range list {
			group.Go(func() {
				if !serves(ctx, client, url) {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if out[name] = true; len(out) == len(urls) {
					cancel() // no need to wait for the others
				}
			})
		}
	}
	group.Wait()
	return out
}

// serves reports whether a server has a file at url. An HTML page does not count, since a network's
// login page sends one.
func serves(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK && !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html")
}
