package nb

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// frontend is the part of a notebook that the package uses.
type frontend interface {
	// put shows v; a later put with the same id, unless empty, replaces it.
	put(id string, v view)
	// script runs js in the page and leaves no trace of it.
	script(js string)
	// connect returns a channel of the page's messages to address, or false if there is no page.
	connect(ctx context.Context, address string) (<-chan string, bool)
	// sync waits until all has been sent.
	sync()
}

// screen is the notebook that this cell runs in; tests put another in its place.
var screen frontend = &gonb{}

type gonb struct{}

func (*gonb) put(id string, v view) {
	data := map[protocol.MIMEType]any{}
	meta := map[string]any{}
	if v.png != nil {
		data[protocol.MIMEImagePNG] = v.png
		meta[string(protocol.MIMEImagePNG)] = map[string]int{"width": v.width}
	}
	if v.html != "" || v.png == nil {
		data[protocol.MIMETextHTML] = v.html
	}
	if v.text != "" {
		data[protocol.MIMETextPlain] = v.text
	}
	if gonbui.IsNotebook {
		gonbui.SendData(&protocol.DisplayData{Data: data, Metadata: meta, DisplayID: id})
	}
}

var scriptID = "nb-script-" + gonbui.UniqueId()

func (*gonb) script(js string) {
	gonbui.UpdateHTML(scriptID, "<script>"+js+"</script>")
	gonbui.UpdateHTML(scriptID, "")
}

func (*gonb) sync() { gonbui.Sync() }

// connect proves the channel with a round trip, because the first attempt of a page to reach its
// kernel is often lost: the kernel answers too late, and only another attempt succeeds.
//
// A subscription, once made, is kept for the life of the cell: GoNB 0.11.4 locks up
// when a value arrives for an address that nobody listens to any more.
func (g *gonb) connect(ctx context.Context, address string) (<-chan string, bool) {
	if !gonbui.IsNotebook || os.Getenv(protocol.GONB_JUPYTER_KERNEL_ID_ENV) == "" {
		return nil, false
	}
	heard := make(chan string, 256)
	comms.Subscribe(address, func(_ string, value string) {
		select {
		case heard <- value:
		default: // nobody reads; never block the kernel's pipe
		}
	})
	for range 4 {
		comms.Start()
		gonbui.Sync()
		g.script(fmt.Sprintf(`globalThis.gonb_comm && globalThis.gonb_comm.send(%q, "hello")`, address))
		select {
		case <-heard:
			return heard, true
		case <-time.After(1600 * time.Millisecond):
		case <-ctx.Done():
			return nil, false
		}
	}
	return nil, false
}
