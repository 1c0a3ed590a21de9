// Package backend is what a kind of device must be able to do for package
// device, which checks arguments before it asks: implementations may assume
// that shapes fit, types agree and memory is alive and their own.
//
// All tensors are contiguous and row-major. Sums are taken in an order that
// depends on shapes alone. Operations may return before they are done; an
// error that comes late is returned by a later call, Sync at the latest.
package backend

import (
	"strconv"
	"unsafe"
)

// DType is an element type.
type DType uint8

// The element types. Int32 holds indices; only copies, Gather, Scatter,
// pooling and cross-entropy take it.
const (
	Float32 DType = iota
	Float64
	Int32
)

// Size is the number of bytes of an element.
func (t DType) Size() int {
	if t == Float64 {
		return 8
	}
	return 4
}

func (t DType) String() string {
	switch t {
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	case Int32:
		return "int32"
	}
	return "DType(" + strconv.Itoa(int(t)) + ")"
}

// Memory is a block of a device's memory, of a type of its backend.
type Memory any

// Tensor is a contiguous row-major array in device memory, Offset elements from its start.
type Tensor struct {
	Mem    Memory
	Offset int
	Type   DType
	Shape  []int
}

// Len is the number of elements.
func (t Tensor) Len() int { return Product(t.Shape) }

// Rows is the indices lo to hi of the first axis.
func (t Tensor) Rows(lo, hi int) Tensor {
	t.Offset += lo * Product(t.Shape[1:])
	t.Shape = append([]int{hi - lo}, t.Shape[1:]...)
	return t
}

// Product is the number of elements of a shape.
func Product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// Info describes a device.
type Info struct {
	Kind   string // "cpu" or "cuda"
	Name   string // as the maker calls it, with the instruction set of a CPU
	Detail string // driver, compute capability, libraries; number of workers

	// Products of float32 round their factors to 10 bits.
	TF32 bool `json:",omitempty"`
	// Of a GPU, 0 where unknown: multiprocessors, and the most that they are clocked at.
	Units    int `json:",omitempty"`
	ClockMHz int `json:",omitempty"`
}

// Traffic counts the calls of a GPU since it was opened.
type Traffic struct {
	Launches           int64 // calls that give it work: kernels, products, copies on the device; a graph is one
	Kernels            int64 // what it runs for them: those in graphs one by one
	Waits              int64 // times that the host stood still until all was done
	Uploads, Downloads int64
	Bytes              int64   // of the arrays that kernels were given, each once a kernel
	FLOP               float64 // of matrix products, and of costs between points
}

// Minus returns the calls after u.
func (t Traffic) Minus(u Traffic) Traffic {
	return Traffic{t.Launches - u.Launches, t.Kernels - u.Kernels, t.Waits - u.Waits, t.Uploads - u.Uploads,
		t.Downloads - u.Downloads, t.Bytes - u.Bytes, t.FLOP - u.FLOP}
}

// Graph is a recorded sequence of operations.
type Graph interface {
	Launch() error
	Close() error
}

// Unary is an elementwise function.
type Unary uint8

// The elementwise functions of x, with parameter p where one is named.
const (
	Identity  Unary = iota
	Neg             // −x
	Abs             // |x|
	Square          // x²
	Sqrt            // √x
	Rsqrt           // 1/√x
	Recip           // 1/x
	Exp             // eˣ
	Log             // log x
	Sin             // sin x
	Cos             // cos x
	ReLU            // max(x, 0)
	LeakyReLU       // x for x > 0, p·x otherwise
	ELU             // x for x > 0, p(eˣ−1) otherwise
	Softplus        // log(1 + eˣ)
	Tanh            // tanh x
	Sigmoid         // 1/(1 + e^−x)
	SiLU            // x/(1 + e^−x)
	AddConst        // x + p
	Clamp           // min(max(x, −p), p)
	Step            // 1 for x ≥ p, 0 otherwise; its derivative is 0
	NumUnary        // the number of functions above
)

// Binary is an elementwise function of two arguments.
type Binary uint8

// The elementwise functions of a and b.
const (
	Add       Binary = iota // a + b
	Sub                     // a − b
	Mul                     // a·b
	Div                     // a/b
	Max                     // the larger
	Min                     // the smaller
	NumBinary               // the number of functions above
)

// Reduction selects how elements are combined to one.
type Reduction uint8

// The reductions. An empty sum is 0, an empty maximum or log-sum-exp −Inf.
const (
	Sum          Reduction = iota // Σ x
	Mean                          // Σ x / count
	SumSquares                    // Σ x²
	Norm                          // √Σ x², without overflow where the result does not
	Largest                       // max x; NaN passes
	LogSumExp                     // log Σ eˣ
	NumReduction                  // the number of reductions above
)

// Affine is the map of Operations.Affine. Tensors without memory are absent.
type Affine struct {
	Scale, Center, Shift Tensor
	Func                 Unary
	P                    float64 // of Func
}

// Moments are the arguments of MomentsVJP: a normalisation and the sums of its derivative.
type Moments struct{ Mean, Rstd, Scale, Sum, Along, More Tensor }

// Window is the geometry of a convolution or pooling over the last two axes.
type Window struct {
	Kernel, Stride, Pad, Dilation [2]int // rows, columns; padding on both sides
}

// Cost is c(x, y) = Square·|x−y|² + Abs·|x−y|₁.
type Cost struct{ Square, Abs float64 }

// Adam holds the constants of a step of Adam.
type Adam struct {
	Rate, Beta1, Beta2, Eps float64
	Decay                   float64 // decoupled when Decoupled (AdamW), else added to the gradient
	Decoupled               bool
}

// Update is the parameters that a step of an optimiser moves together. All lists have one length,
// and entries of one index has one shape.
type Update struct {
	W, G, M []Tensor // parameters, gradients, and first moments or momentum
	V       []Tensor // second moments, of Adam
	Average []Tensor // moving averages of W; none where empty
	Factor  Tensor   // of 1: multiplies the rate
	Decay   Tensor   // of 1: Average becomes Decay·Average + (1−Decay)·W, W after the step
	Clip    float64  // > 0: gradients are taken times min(1, Clip/(norm + 1e-6)), norm that of all together
}

// SGD holds the constants of a step of gradient descent with momentum.
type SGD struct {
	Rate, Momentum, Decay float64
	Nesterov              bool
}

// Backend is one open device.
type Backend interface {
	Info() Info
	MemInfo() (free, total int64, err error)
	// Traffic is zero for a processor.
	Traffic() Traffic
	Sync() error
	Close() error
	// Record runs f once, doing and recording what it launches.
	Record(f func() error) (Graph, error)

	memory
	// Begin comes before operations. End comes after them and returns the first failure; operations after that do
	// nothing.
	Begin()
	End() error
	// Of is the operations on tensors of a type. Those of Int32 are Fill alone.
	Of(t DType) Operations
}

// Operations computes with floats. All tensors of a call have one float type unless a comment names another.
type Operations interface {
	elementwise
	linear
	images
	random
	training
	transport
}

// memory moves and holds data.
type memory interface {
	Alloc(bytes int64) (Memory, error)
	Free(Memory) error
	// Upload and Download copy from and to the host's memory, which holds t.Len() elements of t's
	// type. They return when the copy is done.
	Upload(t Tensor, src unsafe.Pointer) error
	Download(dst unsafe.Pointer, t Tensor) error
	// Convert copies between element types or equal ones, rounding to nearest.
	Convert(dst, src Tensor)
	// Paste copies src into dst from index at of axis on; Cut is the other way round.
	Paste(dst, src Tensor, axis, at int)
	Cut(dst, src Tensor, axis, at int)
	// Gather copies rows of table: dst_i = table_index_i. Indices out of range are an error or zero rows.
	Gather(dst, table, index Tensor)
	// Scatter adds rows: table_index_i += src_i, in the order of i.
	Scatter(table, src, index Tensor)
}

// elementwise maps, combines and reduces. Destinations may be the arguments themselves where shapes are equal.
type elementwise interface {
	Fill(t Tensor, value float64)
	Map(dst, x Tensor, f Unary, p float64)
	// MapVJP is dx = f'(x)·dy, given y = f(x) too.
	MapVJP(dx, x, y, dy Tensor, f Unary, p float64)
	// Combine broadcasts: a and b have dst's rank, each size dst's or 1. Rank at most 6.
	Combine(dst, a, b Tensor, f Binary)
	// Axpby is dst = alpha·x + beta·y; x and y may be dst.
	Axpby(dst Tensor, alpha float64, x Tensor, beta float64, y Tensor)
	// Reduce reduces the axes where dst has size 1. Rank at most 6. Float32 sums are accumulated so that the error
	// does not grow with the number of elements (in float64, compensated, or pairwise).
	Reduce(dst, x Tensor, f Reduction)
	// ReduceDot is Σ x·y over the axes where dst has size 1.
	ReduceDot(dst, x, y Tensor)
	// Affine is y = f(scale·(x − center) + shift), where the three broadcast and are 1, 0 and 0 where absent.
	Affine(y, x Tensor, by Affine)
	// AffineVJP is dz = f'(z)·dy, given x and y, z being f's argument, with sum = Σ dz and along =
	// Σ dz·(x − center) over the axes where sum has size 1, to whose shape the three broadcast.
	// along may be absent.
	AffineVJP(dz, sum, along, x, y, dy Tensor, by Affine)
	// Moments is the mean of x over the axes where mean has size 1, the variance Σ (x − mean)²/(count − lost), and
	// rstd = 1/√(variance + eps).
	Moments(mean, variance, rstd, x Tensor, eps float64, lost int)
	// MomentsVJP is dx = scale·(dz − sum/count − (x − mean)·rstd²·along/(count − lost)) + more. All
	// but dx, dz and x have one shape, which broadcasts; more may be absent.
	MomentsVJP(dx, dz, x Tensor, m Moments, lost int)
}

// linear is matrix products.
type linear interface {
	// Gemm is c = alpha·op(a)·op(b) + beta·c for rank 2, and for rank 3 one product for each first index, where a or b
	// may have first size 1. With beta = 0 the contents of c do not matter, NaN included.
	Gemm(c Tensor, alpha float64, a Tensor, transA bool, b Tensor, transB bool, beta float64)
}

// images are operations on N×C×H×W.
type images interface {
	// Conv is y = W ⋆ x, the cross-correlation of x, N×In×H×W, with weight, Out×In×kh×kw; y is N×Out×OH×OW.
	Conv(y, x, weight Tensor, w Window)
	// ConvInput is dx = Wᵀ dy, its transpose in x.
	ConvInput(dx, dy, weight Tensor, w Window)
	// ConvWeight is dw += Σ_n dy_n ⋆ x_n, its transpose in the weight.
	ConvWeight(dw, x, dy Tensor, w Window)
	// ConvSquares is squares_n += |dy_n ⋆ x_n|².
	ConvSquares(squares, x, dy Tensor, w Window)
	// MaxPool also writes where each maximum was, as the flat index in its H×W plane. Padding never wins.
	MaxPool(y, index, x Tensor, w Window)
	MaxPoolVJP(dx, dy, index Tensor, w Window)
	// AvgPool divides by the size of the window, padding counted.
	AvgPool(y, x Tensor, w Window)
	AvgPoolVJP(dx, dy Tensor, w Window)
	// Nearest and Bilinear resample to the size of y; corners aligned or half-pixel centres.
	Nearest(y, x Tensor)
	NearestVJP(dx, dy Tensor)
	Bilinear(y, x Tensor, align bool)
	BilinearVJP(dx, dy Tensor, align bool)
}

// random draws Philox4x32-10 numbers. state is an Int32 tensor of 4: key low and high, counter low and high, in blocks
// of four numbers. Drawing n numbers advances the counter by ⌈n/4⌉. Element 4k+i comes of word i of block k.
// The numbers are equal, bit for bit, on every device, and float64 tensors get the float32 numbers.
type random interface {
	// Uniform is lo + (hi−lo)·u, u = (word>>8 + ½)·2^−24.
	Uniform(dst, state Tensor, lo, hi float64)
	// Normal is mean + sigma·z by Box–Muller on words (0, 1) and (2, 3) of a block, by the formulas of package philox.
	Normal(dst, state Tensor, mean, sigma float64)
}

// training is losses, steps of optimisers and what privacy needs.
type training interface {
	// CrossEntropy writes loss_i = log Σ_k e^{x_ik} − x_{i,label_i} and its gradient softmax − onehot.
	CrossEntropy(loss, grad, logits, labels Tensor)
	// ClipRows scales each row of the N×D view of x to Euclidean norm at most bound.
	ClipRows(dst, x Tensor, bound float64)
	// Adam and SGD make one step of all parameters, and of their averages, in one pass; before it
	// comes one that reads the gradients where they are clipped. t is an Int32 tensor of 1 that
	// counts steps and is incremented first.
	Adam(u Update, t Tensor, a Adam)
	SGD(u Update, s SGD)
}

// transport is log-sum-exp of h_j − c_ij/ε and what gradients need of it. inv is 1/ε. Arguments of −Inf in h have
// weight zero; a row of nothing else gives −Inf.
type transport interface {
	// LSERows is out_i = log Σ_j exp(h_j − c_ij·inv); batched when c has rank 3 (h and out rank 2).
	LSERows(out, c, h Tensor, inv float64)
	// LSECols is out_j = log Σ_i exp(g_i − c_ij·inv).
	LSECols(out, c, g Tensor, inv float64)
	// PointLSE is LSERows with c_ij = cost(x_i, y_j), x n×d, y m×d, never held.
	PointLSE(out, x, y, h Tensor, cost Cost, inv float64)
	// PointApply is out_i = Σ_j P_ij v_j with P_ij = exp(u_i + h_j − cost(x_i, y_j)·inv), v m×k, never held.
	PointApply(out, x, y, u, h, v Tensor, cost Cost, inv float64)
	// PlanRows is out_i = Σ_j P_ij v_j with c held; PlanCols is out_j = Σ_i P_ij v_i. v is m×k or n×k.
	PlanRows(out, c, u, h, v Tensor, inv float64)
	PlanCols(out, c, u, h, v Tensor, inv float64)
	// PointGrad is grad_i = Σ_j P_ij·(1 + r_i + s_j − cost_ij·inv)·∂cost(x_i, y_j)/∂x_i, the shape of every analytic
	// gradient; with linear set the bracket is (r_i + s_j) alone. n×d.
	PointGrad(grad, x, y, u, h, r, s Tensor, cost Cost, inv float64, linear bool)
	// PointCost is out_i = Σ_j P_ij·cost(x_i, y_j).
	PointCost(out, x, y, u, h Tensor, cost Cost, inv float64)
	// Costs writes cost(x_i, y_j).
	Costs(c, x, y Tensor, cost Cost)
}
