package synth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/durable"
)

// Publication makes a synthetic data set of private images in a folder that can be published. The
// folder appears whole or not at all:
//
//	synthetic.npy, synthetic.labels.npy, synthetic.json   images in [0, 1] as data.Images.Save writes them
//	grid.png                                              with Picture
//	privacy.json, privacy.txt                             the Statement
//	summary.json                                          privacy.json, under the name of every command's result
//
// Until it is finished, all is in a folder beside it, OUT.state: the key, the ledger, a checkpoint
// and the unfinished data set. Run takes a lock there, renames the data set to Out at the end, and
// then removes its own files. A run that was killed, at any point, resumes there if it is started
// with the same images, method and budget, and spends nothing twice. For any other run the folder
// is refused, since the budget spent in it counts.
type Publication struct {
	Method Method
	Budget dp.Budget
	Count  int     // synthetic images, at least 1
	Seed   *uint64 // of the key, for experiments on public images: NOT private; nil: the operating system's generator
	Out    string  // must not exist, or be an empty folder
	// Picture writes a picture of synthetic images, a PNG; nil: none.
	Picture func(w io.Writer, synthetic *data.Images) error
}

// ErrOccupied marks an Out that is not empty, or a folder OUT.state that no run made. Neither is
// changed.
var ErrOccupied = errors.New("folder is in use")

// Run trains on the images, samples, writes the statement and publishes. progress may be nil. The
// error wraps ErrOccupied; ErrParameter and dp.ErrUnreachable for settings out of range, before
// anything is spent; release.ErrBusy where another process uses Out; and release.ErrLedger where a
// run of other images, another method or another budget was killed.
func (p Publication) Run(ctx context.Context, dev *device.Device, images *data.Images, progress func(done, of int)) (Statement, error) {
	public, err := PublicOf(images)
	if err := check.All(err, p.check(public)); err != nil {
		return Statement{}, err
	}
	m, g, err := Calibrate(ctx, p.Method, public, p.Budget)
	if err != nil {
		return Statement{}, err
	}
	event, err := m.Event(public) // of what runs
	if err != nil {
		return Statement{}, err
	}
	s, err := openState(p.Out)
	if err != nil {
		return Statement{}, err
	}
	key, err := s.key(p.Seed)
	if err != nil { // what is there is not ours to remove
		s.unlock()
		return Statement{}, err
	}
	defer s.leave()
	sampler, err := m.Train(ctx, dev, images, Run{Key: key, Dir: s.dir, Every: 50, Progress: progress})
	switch {
	case errors.Is(err, release.ErrLedger):
		return Statement{}, fmt.Errorf("%s holds an unfinished run that is not this one: finish it with its own images, method and budget, or take another folder; what it spent counts: %w", s.dir, err)
	case errors.Is(err, context.Canceled):
		return Statement{}, fmt.Errorf("%w: the same request resumes it; protect %s, which has the key, like the images", err, s.dir)
	case err != nil:
		return Statement{}, err
	}
	synthetic, err := sampler.Sample(key.Rand("sample", 0), p.Count)
	if err := check.All(err, s.renew()); err != nil { // an earlier attempt goes in either case
		return Statement{}, err
	}
	statement := state(m, public, event, g, synthetic.Len(), p.Seed != nil)
	if err := p.write(s.data(), synthetic, statement); err != nil {
		return Statement{}, err
	}
	return statement, s.publish()
}

func (p Publication) check(public Public) error {
	switch b := p.Budget; {
	case p.Method == nil:
		return bad("Method = nil: must be one")
	case !(b.Epsilon > 0):
		return bad("Epsilon = %g: must be > 0", b.Epsilon)
	case !(b.Delta > 0) || b.Delta*float64(public.Records) >= 1:
		return bad("Delta = %g: must be > 0 and below 1/%d, one over the number of images: else an image may be given away whole", b.Delta, public.Records)
	case b.Relation.Kind != dp.AddRemove:
		return bad("Relation = %v: the statement is for images added or removed", b.Relation)
	case p.Count < 1:
		return bad("Count = %d: must be at least 1", p.Count)
	}
	return nil
}

// write fills the folder of the unfinished data set.
func (p Publication) write(dir string, synthetic *data.Images, statement Statement) error {
	if err := synthetic.Save(filepath.Join(dir, "synthetic.npy")); err != nil {
		return err
	}
	text, err := json.MarshalIndent(statement, "", "  ")
	if err != nil {
		return err
	}
	asJSON := func(w io.Writer) error { _, err := fmt.Fprintf(w, "%s\n", text); return err }
	files := map[string]func(w io.Writer) error{
		"privacy.json": asJSON,
		"summary.json": asJSON,
		"privacy.txt":  func(w io.Writer) error { _, err := io.WriteString(w, statement.Text()); return err },
	}
	if p.Picture != nil {
		files["grid.png"] = func(w io.Writer) error { return p.Picture(w, synthetic) }
	}
	for name, fill := range files {
		if err := durable.WriteFile(filepath.Join(dir, name), 0o666, fill); err != nil {
			return err
		}
	}
	return nil
}
