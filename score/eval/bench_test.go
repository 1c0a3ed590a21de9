package eval_test

import (
	"testing"

	"coupling/data"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/score/eval"
)

// Training on all of MNIST and testing on its test images by Quick, the upper bound for synthetic digits. The metric is
// the accuracy in percent. CNNs take minutes on two cores: go test -bench MNIST/CNN -benchtime 1x.
func BenchmarkMNIST(b *testing.B) {
	fit, err := data.MNIST(b.Context(), data.From{Offline: true}, data.Train)
	if err != nil {
		b.Skip(err)
	}
	real, err := data.MNIST(b.Context(), data.From{Offline: true}, data.Test)
	if err != nil {
		b.Skip(err)
	}
	dev := devicetest.CPU(b)
	for _, k := range []eval.Kind{eval.Logistic, eval.MLP, eval.LeNet, eval.CNN, eval.Example, eval.Oriented} {
		b.Run(k.String(), func(b *testing.B) {
			for b.Loop() {
				r := must.Get(eval.Classifier{Kind: k}.Evaluate(b.Context(), dev, fit, real, seed(1)))
				b.ReportMetric(100*r.Accuracy, "%")
			}
		})
	}
}
