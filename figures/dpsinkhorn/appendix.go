package dpsinkhorn

import (
	"cmp"
	"fmt"

	"coupling/dp/synth/dpsinkhorn"
	"coupling/lab"
)

// settingsTable is the paper's appendix D beside what its code does and what ran, so that no difference is silent.
func settingsTable(v utilityView) lab.Table {
	var sound, printed, free Recipe
	var p UtilityParams
	for _, c := range v.Cells {
		if p = c.Params; p.Fashion {
			break
		}
		switch p.Method.Name {
		case wholeBatch:
			sound = p.Method.Recipe
		case asPrinted:
			printed = p.Method.Recipe
		case nonPrivate1:
			free = p.Method.Recipe
		}
	}
	p = v.Cells[0].Params
	t := sound.training(60_000)
	generator, latent, classes := fmt.Sprintf("DCGAN, %d·(4, 2, 1) channels", sound.Hidden), "12 + 4", "at random"
	if t.Net.MLP != nil {
		generator = fmt.Sprintf("dense, %v, to images of %d × %d, enlarged", t.Net.MLP.Hidden, sound.Side, sound.Side)
		latent, classes = fmt.Sprintf("%d + %d", t.Net.MLP.Latent, t.Net.MLP.Embed), "in turn"
	}
	schedule := "constant"
	if sound.Fall {
		schedule = "to 0 along half a cosine"
	}
	both := func(of func(Recipe) string) string {
		if of(sound) == of(printed) || printed.Steps == 0 {
			return of(sound)
		}
		return of(sound) + "; as printed: " + of(printed)
	}
	return lab.Table{Name: "settings", Caption: "Appendix D of the paper, its code, and what ran here on MNIST: the sound recipe, and the printed one where it differs", Header: []string{"setting", "paper", "its code", "here"}, Rows: [][]string{
		{"generator", "DCGAN, 256, 128, 64 channels, ReLU", "the same, leaky ReLU 0.2", generator},
		{"latent code and embedding", "12 + 4", "16 + 8", latent},
		{"classes of a batch", "at random", "at random", classes},
		{"cost", "|x − y|² + m|x − y|, m = 1 (Fashion-MNIST 3)", "the same", both(func(r Recipe) string { return fmt.Sprintf("m = %g", r.L1) })},
		{"weight of classes α, λ", "15, 0.05", "15, 0.05", fmt.Sprintf("%g, %g", cmp.Or(t.Loss.Label, 15), cmp.Or(t.Loss.Blur, .05))},
		{"updates of the potentials", "GeomLoss, scaling 0.5", "the same, some 13", fmt.Sprintf("the same, scaling %g", cmp.Or(t.Loss.Scaling, .5))},
		{"fresh images p", "0.4", "0.2", both(func(r Recipe) string { return fmt.Sprint(r.P) })},
		{"images of a step, private ones expected", "50, 50; without privacy 500", "as many as the private ones, 50", both(func(r Recipe) string { return fmt.Sprintf("%d, %d", r.Images, r.Batch) }) + fmt.Sprintf("; without privacy %d, %d", free.Images, free.Batch)},
		{"what is clipped", "each row, to 0.5", "the whole batch, to 0.5", both(clipped)},
		{"noise multiplier σ", "1.5 (Fashion-MNIST 1.9)", "1.1 (0.9)", both(func(r Recipe) string {
			if r.Rows > 0 {
				return fmt.Sprint(r.Rows)
			}
			return fmt.Sprintf("the least for ε = %g", r.Epsilon)
		})},
		{"steps", "160,000 (280,000)", "3,446,400 (1,812,000)", both(func(r Recipe) string { return fmt.Sprint(r.Steps) })},
		{"optimiser", "Adam, rate 1e-4 (1e-5), decay 2e-5", "Adam, rate 1e-5, decay 1e-5", fmt.Sprintf("Adam, rate %g, %s, decay %g", sound.Rate, schedule, t.Adam.Decay)},
		{"accounting", "Rényi, n·T rows, each a sample of its own: " + dpsinkhorn.NotJustified, "Rényi, T steps", "exact, T steps"},
		{"synthetic images", "60,000", "60,000, dark half black", fmt.Sprint(p.Synthetic)},
		{"logistic regression", "scikit-learn's L-BFGS, 5000 iterations", "Adam 1e-4, 300 epochs, patience 10", p.Judge.how()},
		{"MLP", "100 units, Adam, patience 30", "the same, Adam 1e-4", p.Judge.how()},
		{"CNN", "32, 64, dropout 0.5, Adam, patience 30", "32, 64, 128, gradient descent 1e-3, patience 60", fmt.Sprintf("%d channels first; %s", p.Judge.Width, p.Judge.how())},
		{"means", "of 5 trainings", "–", fmt.Sprintf("of %d", len(repeats(v.Cells)[0]))},
	}}
}

func clipped(r Recipe) string {
	if r.Rows > 0 {
		return fmt.Sprintf("each row, to %g", r.Clip)
	}
	return fmt.Sprintf("the whole batch, to %g", r.Clip)
}

// how says by which protocols classifiers learn.
func (j Judge) how() string {
	if j.Protocols > 0 {
		return fmt.Sprintf("ours for two cores; the paper's and the code's on %d images", j.Protocols)
	}
	return "ours for two cores (package eval, Quick)"
}
