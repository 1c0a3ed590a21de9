package dpsinkhorn

// publishedSteps is how many steps of 50 rows the paper's own accounting lets a noise scale take to ε = 10 at δ = 1e-5: each row as
// if it had a Poisson sample of its own, by Rényi divergences and the classical conversion. It is not justified, and stands here
// because the steps of the paper's experiments follow from it. A test computes the numbers.
var publishedSteps = map[float64]int{1.1: 69_301, 1.3: 110_482, 1.5: 159_420, 1.9: 279_641}

// ablationRow is a row of the paper's Table 2: what differs from the best model of MNIST, and percent of accuracy.
type ablationRow struct {
	gradient, loss, debiasing string
	fid                       float64
	acc                       [3]float64 // logistic regression, MLP, CNN; 0: not given
	change                    func(*Recipe)
}

// ablationRows are Table 2, in its order.
var ablationRows = []ablationRow{
	{"parameters", "L2", "none", 218.6, [3]float64{0, 79.9, 80.7}, func(r *Recipe) { r.Parameters, r.L1, r.P = true, 0, 0 }},
	{"images", "L2", "none", 124.3, [3]float64{0, 82.0, 80.8}, func(r *Recipe) { r.L1, r.P = 0, 0 }},
	{"images", "L1", "none", 73.9, [3]float64{0, 68.4, 65.7}, func(r *Recipe) { r.NoSquare, r.P = true, 0 }},
	{"images", "L1 + L2", "none", 89.1, [3]float64{0, 80.8, 77.6}, func(r *Recipe) { r.P = 0 }},
	{"images", "L1 + L2", "full", 86.0, [3]float64{0, 68.7, 66.7}, func(r *Recipe) { r.P = 1 }},
	{"images", "L1 + L2", "semi", 48.4, [3]float64{0, 82.7, 83.2}, func(*Recipe) {}},
}

// searchRow is a row of the paper's Tables 4 and 5: noise scale, clip, p, m, FID and percent of accuracy.
type searchRow struct {
	sigma, clip, p, l1, fid float64
	acc                     [3]float64
}

var searchRows = map[bool][]searchRow{
	false: {
		{1.1, 1.0, .2, 1, 75, [3]float64{81.2, 82.6, 79.5}},
		{1.3, 1.0, .2, 1, 80, [3]float64{81.9, 82.4, 80.1}},
		{1.3, 0.3, .2, 1, 68.8, [3]float64{79.8, 81.2, 76.9}},
		{1.3, 0.7, .2, 1, 72.0, [3]float64{79.6, 81.1, 77.0}},
		{1.5, 0.5, .2, 1, 74.5, [3]float64{82.3, 82.6, 82.1}},
		{1.5, 0.7, .2, 1, 69.2, [3]float64{80.5, 82.2, 80.8}},
		{1.9, 0.5, .2, 1, 76.4, [3]float64{80.2, 80.5, 79.2}},
		{1.9, 0.7, .2, 1, 70.3, [3]float64{82.2, 83.4, 80.5}},
		{1.5, 0.5, .4, 1, 48.4, [3]float64{82.8, 82.7, 83.2}},
	},
	true: {
		{1.1, 1.0, .2, 1, 140.0, [3]float64{74.0, 74.0, 68.0}},
		{1.3, 0.3, .2, 1, 156.6, [3]float64{74.1, 74.5, 65.8}},
		{1.3, 0.7, .2, 1, 157.9, [3]float64{74.0, 74.2, 65.8}},
		{1.5, 0.5, .2, 1, 163.4, [3]float64{73.7, 74.4, 67.5}},
		{1.5, 0.7, .2, 1, 161.5, [3]float64{73.9, 74.2, 69.3}},
		{1.9, 0.5, .2, 1, 153.8, [3]float64{73.5, 73.9, 69.4}},
		{1.9, 0.7, .2, 1, 154.7, [3]float64{73.9, 73.9, 68.4}},
		{1.9, 0.5, .4, 1, 133.0, [3]float64{73.2, 73.2, 69.6}},
		{1.9, 0.5, .4, 3, 128.3, [3]float64{75.1, 74.6, 71.1}},
	},
}
