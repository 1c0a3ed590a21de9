package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"coupling/data/fetch"
)

func ExampleClient_Get() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()
	folder, err := os.MkdirTemp("", "fetch")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)

	err = fetch.Client{}.Get(context.Background(), fetch.File{
		Path:     filepath.Join(folder, "hello.txt"),
		URLs:     []string{server.URL + "/hello.txt"},
		SHA256:   "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
		MaxBytes: 5,
	})
	text, _ := os.ReadFile(filepath.Join(folder, "hello.txt"))
	fmt.Println(string(text), err)
	// Output: hello <nil>
}
