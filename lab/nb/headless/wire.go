package headless

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"coupling/lab"

	"github.com/go-zeromq/zmq4"
)

// message holds the fields of a Jupyter message, protocol 5.3, that are used here.
type message struct {
	kind, id, parent string
	content          content
}

type content struct {
	Name, Text     string // of a stream
	Data, Metadata map[string]any
	Transient      struct {
		Display string `json:"display_id"`
	}
	State     string `json:"execution_state"`
	Status    string
	Error     string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

var delimiter = []byte("<IDS|MSG>")

// wire writes and reads signed messages of one session.
type wire struct {
	key     []byte
	session string
}

func (w *wire) sign(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, w.key)
	for _, p := range parts {
		h.Write(p)
	}
	return []byte(hex.EncodeToString(h.Sum(nil)))
}

func (w *wire) encode(kind string, content any) (id string, m zmq4.Msg, err error) {
	defer lab.End(&err)
	id = rand.Text()
	header := lab.Must(json.Marshal(map[string]any{
		"msg_id": id, "msg_type": kind, "session": w.session, "username": "coupling",
		"date": time.Now().UTC().Format(time.RFC3339Nano), "version": "5.3",
	}))
	body, empty := lab.Must(json.Marshal(content)), []byte("{}")
	return id, zmq4.NewMsgFrom(delimiter, w.sign(header, empty, empty, body), header, empty, empty, body), nil
}

var errForeign = errors.New("not a signed message of this session's kernel")

func (w *wire) decode(m zmq4.Msg) (message, error) {
	frames := m.Frames
	for len(frames) > 0 && string(frames[0]) != string(delimiter) {
		frames = frames[1:]
	}
	if len(frames) < 6 || !hmac.Equal(frames[1], w.sign(frames[2:6]...)) {
		return message{}, errForeign
	}
	var header, parent struct {
		ID   string `json:"msg_id"`
		Kind string `json:"msg_type"`
	}
	out := message{}
	err := errors.Join(json.Unmarshal(frames[2], &header), json.Unmarshal(frames[3], &parent),
		json.Unmarshal(frames[5], &out.content))
	out.kind, out.id, out.parent = header.Kind, header.ID, parent.ID
	return out, err
}
