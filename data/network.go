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

// reachable says of each data set whether one of its servers answers. It asks once in a process, all servers at the same
// time, through the proxy that the environment names.
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

// probe asks for the head of every URL and returns the names of which one is there. It returns early once every name has
// an answer.
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
					cancel() // the others need not be waited for
				}
			})
		}
	}
	group.Wait()
	return out
}

// serves reports whether a server has a file at url. A web page is not one: it is what a login page of a network sends.
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
