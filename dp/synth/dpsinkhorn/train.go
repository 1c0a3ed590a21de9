package dpsinkhorn

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// Training is algorithm 1: a generator is moved along a sanitised gradient of the semi-debiased Sinkhorn loss.
type Training struct {
	Net       Net
	Loss      Loss
	Sanitiser Sanitiser // nil: neither clip nor noise, and no privacy
	// Parameters clips and noises the gradient of all parameters together, rather than that at the images (the first row of
	// the paper's table 2). The Sanitiser must be a WholeBatch: sensitivity 2·Bound holds of any vector that is clipped to
	// Bound, and the event is the same.
	Parameters bool
	// Project, d×k with orthonormal columns and public, makes the generator's images P·Pᵀx of what its network says, here and when
	// it is sampled, so that their gradient lies along the columns: its k coordinates there are clipped and noised in place of d
	// pixels. The low frequencies of semidual.Basis hold most of what images say and little of the noise. Sensitivity is that
	// of the Sanitiser, which clips the coordinates. Ours, not the paper's; nil: every pixel.
	Project *mat.Dense
	// Turns gives generated images the classes in turn, rather than at random.
	Turns    bool
	Images   int     // n, generated images of a step beside the fresh ones; 0: 50
	Rate     float64 // probability of a private image to be in a step's batch
	Steps    int
	Adam     train.Adam
	SGD      *train.SGD     // in place of Adam, if not nil
	Schedule train.Schedule // of the learning rate; nil: constant
	// Dir is a folder for a checkpoint and the ledger: a run that is killed goes on from there with the same weights in
	// the end, and spends no step twice. Empty: neither.
	Dir   string
	Every int                                   // steps between checkpoints; 0: 100
	Trace func(step int, release *device.Array) // sees what each step releases; may be nil
}

// Net is the network of a generator.
type Net struct {
	DCGAN  *arch.DCGAN // one of the two
	BigGAN *arch.BigGAN
}

func (n Net) build() (net nn.Layer, latent int, err error) {
	switch {
	case n.DCGAN != nil && n.BigGAN == nil:
		return n.DCGAN.Net(), n.DCGAN.Latent, nil
	case n.BigGAN != nil && n.DCGAN == nil:
		return n.BigGAN.Net(), n.BigGAN.Latent, nil
	}
	return nil, 0, bad("Net: must have one network")
}

// Event is what the run releases, for dp.Epsilon under the relation of one record more or less.
func (t Training) Event() (dp.Event, error) {
	if t.Sanitiser == nil || t.Sanitiser.Noise() == 0 {
		return nil, bad("Sanitiser: without noise there is no privacy")
	}
	if err := t.checkSanitiser(); err != nil {
		return nil, err
	}
	return t.Sanitiser.Event(t.images(), t.Rate, t.Steps), nil
}

func (t Training) images() int {
	if t.Images == 0 {
		return 50
	}
	return t.Images
}

// checkSanitiser refuses bounds and noise that are not numbers of their kind: with noise that is negative or NaN there would be
// none.
func (t Training) checkSanitiser() error {
	if t.Sanitiser == nil {
		return nil
	}
	noise, moved := t.Sanitiser.Noise(), t.Sanitiser.Sensitivity(t.images())
	if !(noise >= 0) || math.IsInf(noise, 0) || !(moved > 0) || math.IsInf(moved, 0) {
		return bad("Sanitiser = %#v: sensitivity %g must be positive and noise %g not negative, both finite", t.Sanitiser, moved, noise)
	}
	return nil
}

func (t Training) check(images *data.Images, classes int) error {
	if images == nil || images.Len() == 0 || len(images.Labels) != images.Len() {
		return bad("images: must have some, with labels")
	}
	if !(images.Lo < images.Hi) {
		return bad("images: range [%g, %g]", images.Lo, images.Hi)
	}
	for i, l := range images.Labels {
		if l < 0 || l >= classes {
			return bad("label %d of image %d: must be in [0, %d)", l, i, classes)
		}
	}
	if _, whole := t.Sanitiser.(WholeBatch); t.Parameters && !whole {
		return bad("Parameters: the sanitiser is %v: must be a WholeBatch", t.Sanitiser)
	}
	switch {
	case t.Images < 0:
		return bad("Images = %d: must not be negative", t.Images)
	case t.Steps < 0:
		return bad("Steps = %d: must not be negative", t.Steps)
	case !(t.Rate > 0 && t.Rate <= 1):
		return bad("Rate = %g: must be in (0, 1]", t.Rate)
	}
	if err := t.checkProject(images.Dim()); err != nil {
		return err
	}
	return t.checkSanitiser()
}

// run is a training under way.
type run struct {
	Training
	dev     *device.Device
	images  *data.Images
	classes int
	key     release.Key
	net     nn.Layer
	latent  int
	opt     *train.Optimiser
	ck      train.Checkpoint
	ledger  *release.Ledger
	project *device.Array // Project; nil without
}

// Run trains on private images with labels in [0, classes), from where an earlier run in Dir was ended. Initial weights,
// latent codes, batches and noise come from the key: give the same one to go on. Weights are the same bits in the end,
// killed or not, on the same kind of device; another kind is refused in Dir, since a step that is played again with
// other rounding would release something new. The error wraps ErrLedger where Dir holds another run or more than Steps steps,
// which Event would not account for, and where a step that is played again would not release what the ledger says that it
// did; and ErrBusy where another process trains in Dir.
func (t Training) Run(ctx context.Context, dev *device.Device, images *data.Images, classes int, key release.Key) (*Generator, error) {
	if err := t.check(images, classes); err != nil {
		return nil, err
	}
	r := &run{Training: t, dev: dev, images: images, classes: classes, key: key}
	err := r.open()
	if r.ledger != nil {
		defer func() { _ = r.ledger.Close() }()
	}
	if err != nil {
		return nil, err
	}
	for r.ck.Step < int64(t.Steps) {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, r.save())
		}
		if err := r.step(int(r.ck.Step)); err != nil {
			return nil, err
		}
		if r.ck.Step++; r.ck.Step%int64(orInt(t.Every, 100)) == 0 {
			if err := r.save(); err != nil {
				return nil, err
			}
		}
	}
	_, c, h, w := images.Shape()
	return &Generator{net: r.net, dev: dev, latent: r.latent, classes: classes, project: r.project, names: images.Classes, shape: [3]int{c, h, w}, batch: t.images() + t.Loss.fresh(t.images())}, r.save()
}

func orInt(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

// open builds the network and takes up what Dir holds.
func (r *run) open() (err error) {
	if r.net, r.latent, err = r.Net.build(); err != nil {
		return err
	}
	r.net.Init(r.dev, device.Float32, r.key.Rand("weights", 0))
	if r.Schedule == nil {
		r.Schedule = train.Constant()
	}
	if r.SGD != nil {
		r.opt = r.SGD.For(r.net.Params())
	} else {
		r.opt = r.Adam.For(r.net.Params())
	}
	r.loadProject()
	r.ck.Params = map[string][]*nn.Param{"generator": r.net.Params(), "optimiser": r.opt.State()}
	if r.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(r.Dir, 0o777); err != nil {
		return err
	}
	of, err := r.identity()
	if err != nil {
		return err
	}
	if r.ledger, err = release.OpenLedger(filepath.Join(r.Dir, "ledger"), of); err != nil {
		return err
	}
	if err := r.ck.Load(r.checkpoint()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if r.Sanitiser != nil {
		return r.ledger.Covers(int(r.ck.Step), r.Steps)
	}
	if r.ck.Step > int64(r.Steps) {
		return bad("Steps = %d: there is a checkpoint of step %d in Dir = %s", r.Steps, r.ck.Step, r.Dir)
	}
	return nil
}

func (r *run) checkpoint() string { return filepath.Join(r.Dir, "checkpoint") }

func (r *run) save() error {
	if r.Dir == "" {
		return r.dev.Sync()
	}
	return r.ck.Save(r.checkpoint())
}

// identity is what a run is, the private images by a code that tells nothing to who has not the key, and the key by a
// fingerprint. It refuses other runs at once; what it does not see, a Schedule or the rounding of a processor, the marks of
// the ledger do.
func (r *run) identity() (string, error) {
	print := sha256.Sum256(append([]byte("fingerprint"), r.key[:]...))
	data, err := r.dataCode()
	if err != nil {
		return "", err
	}
	_, c, h, w := r.images.Shape()
	on := r.dev.Info() // without how many workers it has, which changes no bit
	net := r.Net
	if net.DCGAN != nil { // laws are functions; the weights that they drew say it all
		g := *net.DCGAN
		g.Weights, net.DCGAN = nil, &g
	} else {
		g := *net.BigGAN
		g.Weights, net.BigGAN = nil, &g
	}
	start := sha256.New()
	for _, p := range r.net.Params() {
		v, err := p.Value.Float64s()
		if err != nil {
			return "", err
		}
		_ = binary.Write(start, binary.LittleEndian, v) // a hash takes everything
	}
	line, err := json.Marshal(map[string]any{
		"net": fmt.Sprintf("%+v %+v", deref(net.DCGAN), deref(net.BigGAN)), "start": fmt.Sprintf("%x", start.Sum(nil)[:8]), "loss": r.Loss,
		"sanitiser": fmt.Sprintf("%#v", r.Sanitiser), "parameters": r.Parameters, "images": r.Training.images(),
		"rate": r.Rate, "adam": r.Adam, "sgd": r.SGD, "project": digestOf(r.Project), "turns": r.Turns, "records": data,
		"shape": []int{c, h, w}, "range": []float32{r.images.Lo, r.images.Hi}, "classes": r.classes,
		"device": []any{on.Kind, on.Name, on.TF32}, "key": fmt.Sprintf("%x", print[:8]),
	})
	return string(line), err
}

// dataCode authenticates images and labels with the key.
func (r *run) dataCode() (string, error) {
	code := hmac.New(sha256.New, r.key[:])
	labels := make([]int64, len(r.images.Labels))
	for i, l := range r.images.Labels {
		labels[i] = int64(l)
		if err := binary.Write(code, binary.LittleEndian, r.images.AppendRows(nil, []int{i})); err != nil {
			return "", err
		}
	}
	err := binary.Write(code, binary.LittleEndian, labels)
	return fmt.Sprintf("%x", code.Sum(nil)[:16]), err
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// step does step k: the ledger is told between the gradient and its noise, when nothing has been released.
func (r *run) step(k int) error {
	defer r.dev.Scope().Close()
	n := r.Training.images()
	codes := r.key.Rand("codes", k)
	p := &nn.Pass{Training: true}
	x := r.generate(p, codes, n+r.Loss.fresh(n))
	y, err := r.batch(k)
	if err != nil {
		return err
	}
	private, public, err := r.Loss.Gradient(Labelled{X: along(r.project, x.X.Reshape(len(x.Labels), -1)), Labels: x.Labels}, y, r.classes)
	if err != nil {
		return err
	}
	head := public.Rows(0, n)
	device.Add(head, head, private)
	nn.ZeroGrads(r.net.Params())
	released := head
	if r.Sanitiser != nil && !r.Parameters {
		if released, err = r.releaseImages(k, head); err != nil {
			return err
		}
		// Rows of fresh images know nothing of private ones; they are clipped so that they pull no harder than the others.
		r.Sanitiser.Clip(public.Rows(n, public.Dim(0)))
	}
	r.net.VJP(p, along(r.project, public).Reshape(x.X.Shape()...))
	if r.Sanitiser != nil && r.Parameters {
		if released, err = r.releaseParameters(k); err != nil {
			return err
		}
	}
	r.opt.SetFactor(r.Schedule(k))
	r.opt.Step()
	if r.Trace != nil {
		r.Trace(k, released)
	}
	return r.dev.Err()
}

// spend writes a release of step k to the ledger, if there is one. Without a sanitiser nothing calls it: there is no
// privacy to keep account of.
func (r *run) spend(k int) func(mark [32]byte) error {
	if r.ledger == nil {
		return nil
	}
	return func(mark [32]byte) error { return r.ledger.Spend(k, mark) }
}

// releaseParameters sanitises the gradients of all parameters as one vector.
func (r *run) releaseParameters(k int) (*device.Array, error) {
	all := gather(r.dev, r.net.Params())
	if err := sanitise(r.Sanitiser, all, r.key, k, r.spend(k)); err != nil {
		return nil, err
	}
	eachGrad(r.net.Params(), func(g *device.Array, at int) { device.Cut(g, all, 1, at) })
	return all, nil
}

// generate makes total images for a step.
func (r *run) generate(p *nn.Pass, codes *rand.Rand, total int) Labelled {
	if !r.Turns {
		return generate(r.net, p, r.dev, codes, total, r.latent, r.classes)
	}
	labels := make([]int, total)
	for i := range labels {
		labels[i] = i % r.classes
	}
	return generateLabels(r.net, p, r.dev, codes, labels, r.latent)
}

// batch is the private images of step k, scaled to [−1, 1]; none at all is a batch too.
func (r *run) batch(k int) (Labelled, error) {
	indices, err := release.Poisson(r.key.Source("batch", k), r.images.Len(), r.Rate)
	if err != nil || len(indices) == 0 {
		return Labelled{}, err
	}
	rows := r.images.AppendRows(nil, indices)
	lo, by := r.images.Lo, 2/(r.images.Hi-r.images.Lo)
	for i, v := range rows {
		u := (v-lo)*by - 1
		if !(u >= -1) {
			u = -1
		}
		rows[i] = min(u, 1)
	}
	labels := make([]int, len(indices))
	for i, j := range indices {
		labels[i] = r.images.Labels[j]
	}
	return Labelled{X: r.dev.From32(rows, len(indices), r.images.Dim()), Labels: labels}, nil
}
