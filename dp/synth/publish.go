package synth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/durable"
	"coupling/lab/logspace"
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
//
// # The number of images
//
// Neighbouring data sets differ in one image, and so in their number of images. It is released with
// noise first, for ε/100 and at most 1 (Public.Counted): at ε = 1 it is off by 140 images or so, and
// the noise of the training is a hundredth larger. Settings, the bound of δ and the statement go by
// the noisy number, so that neighbours are not told apart by what is published, nor by whether it is.
// The rest of ε is for the training, by the sum, since its noise is chosen after the count. Beside
// shape and classes it is public only that there is an image.
//
// A method may have a largest number of images, since its sums must be exact. It must take k images
// more than the noisy number, where P(noise ≤ −k) is a thousandth of δ: that much of δ is for the
// case that there are more than it takes, which Train refuses.
type Publication struct {
	Method func(p Public) Method // with settings for images of that kind; Records is the noisy number
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

// Run trains on the images, samples, writes the statement and publishes. progress may be nil; it is called with what
// is done, training steps or images drawn. The
// error wraps ErrOccupied; ErrParameter and dp.ErrUnreachable for settings out of range, before
// anything is spent; release.ErrBusy where another process uses Out; and release.ErrLedger where a
// run of other images, another method or another budget was killed.
func (p Publication) Run(
	ctx context.Context, dev *device.Device, images *data.Images, progress func(what string, done, of int),
) (Statement, error) {
	public, err := PublicOf(images)
	if err := check.All(err, p.check()); err != nil {
		return Statement{}, err
	}
	if err := p.checkShape(public); err != nil {
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
	forCount := min(p.Budget.Epsilon*countShare, 1)
	if public, err = public.Counted(key, forCount); err != nil {
		return Statement{}, err
	}
	m, spent, err := p.calibrate(ctx, public, forCount)
	if err != nil {
		return Statement{}, fmt.Errorf("%w (counting the images spent ε = %g, which adds up with other runs)",
			err, forCount)
	}
	r := Run{Key: key, Dir: s.dir, Every: 50}
	if progress != nil {
		r.Progress = func(done, of int) { progress("learning, steps", done, of) }
		r.Drawn = func(done, of int) { progress("drawing images", done, of) }
	}
	sampler, err := m.Train(ctx, dev, images, r)
	switch {
	case errors.Is(err, release.ErrLedger):
		return Statement{},
			fmt.Errorf(
				"%s holds an unfinished run that is not this one: finish it with its own images, method and "+
					"budget, or take another folder; what it spent counts: %w", s.dir, err)
	case errors.Is(err, context.Canceled):
		return Statement{},
			fmt.Errorf("%w: the same request resumes it; protect %s, which has the key, like the images", err, s.dir)
	case err != nil:
		return Statement{}, err
	}
	synthetic, err := sampler.Sample(key.Rand("sample", 0), p.Count)
	if err := check.All(err, s.renew()); err != nil { // an earlier attempt goes in either case
		return Statement{}, err
	}
	statement := state(m, public, spent, synthetic.Len(), p.Seed != nil)
	if err := p.write(s.data(), synthetic, statement); err != nil {
		return Statement{}, err
	}
	return statement, s.publish()
}

const (
	countShare = .01  // of ε: for the number of images
	limitShare = .001 // of δ: for the case that there are more images than the method takes
)

// spending is what was spent: ε on the number of images, δ in all, and the training's event and
// guarantee.
type spending struct {
	count    float64
	delta    float64
	event    dp.Event
	training dp.Guarantee
}

// calibrate returns the method for images of that kind, with the least noise that the budget allows
// beside that for the count. Nothing but releases was seen so far, and an error shows no more.
func (p Publication) calibrate(ctx context.Context, public Public, forCount float64) (m Method, s spending, err error) {
	budget := p.Budget
	if most := float64(public.Records) + 3/forCount; budget.Delta*most >= 1 { // more have probability e^−3/2
		return nil, s,
			bad(
				"Delta = %g: must be below 1/%.0f, one over the number of images, with noise: else an image may be "+
					"given away whole", budget.Delta, most)
	}
	budget.Epsilon -= forCount * (1 + 1e-15)
	budget.Delta *= 1 - limitShare
	if m, s.training, err = Calibrate(ctx, p.Method(public), public, budget); err != nil {
		return nil, s, err
	}
	s.count, s.delta = forCount, p.Budget.Delta
	if s.event, err = m.Event(public); err != nil { // of what runs
		return nil, s, err
	}
	many := public
	many.Records += int(math.Ceil(-logspace.Log(limitShare*p.Budget.Delta) / forCount))
	_, err = m.Event(many)
	return m, s, err
}

func (p Publication) check() error {
	switch b := p.Budget; {
	case p.Method == nil:
		return bad("Method = nil: must be one")
	case in.Positive("Epsilon", b.Epsilon) != nil:
		return in.Positive("Epsilon", b.Epsilon)
	case !(b.Delta > 0 && b.Delta < 1):
		return bad("Delta = %g: must be > 0, and below one over the number of images", b.Delta)
	case b.Relation.Kind != dp.AddRemove || uint(b.Relation.Group) > 1: // the count costs a group more than it says
		return bad("Relation = %+v: the statement is for one image added or removed", b.Relation)
	case p.Count < 1:
		return bad("Count = %d: must be at least 1", p.Count)
	}
	return nil
}

// checkShape refuses, before anything is released, images of a shape that the method does not take, be there one or
// ten thousand of them: their number is private.
func (p Publication) checkShape(public Public) (err error) {
	for _, public.Records = range []int{1, 10_000} {
		if _, err = p.Method(public).WithNoise(1).Event(public); err == nil {
			return nil
		}
	}
	return err
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
