// Package train moves the parameters of networks, and stores runs so that they can go on.
//
//   - Adam, AdamW and SGD with momentum; their state is on the device, so that a step can be recorded as a device.Graph
//   - Schedules of the learning rate, as functions of the step
//   - EMA, the moving average that score networks are sampled with; Optimiser.Average moves it in
//     the step's pass over the
//     parameters, and Adam.Clip bounds the gradients there
//   - ClippedGrads, the sum of clipped per-example gradients that DP-SGD adds noise to
//   - Checkpoint, one safetensors file with a checksum, written at once or not at all, whoever is
//     killed and whatever is full
//
// # A run that can be killed
//
//	opt, ema := train.Adam{Rate: 1e-4}.For(net.Params()), train.NewEMA(.999, net.Params())
//	ck := train.Checkpoint{
//		Params:  map[string][]*nn.Param{"net": net.Params(), "adam": opt.State(), "ema": ema.State()},
//		Sources: map[string]train.Source{"batches": pcg},
//	}
//	if err := ck.Load(path); err != nil && !errors.Is(err, os.ErrNotExist) {
//		return err
//	}
//	for ck.Step < steps {
//		opt.SetFactor(schedule(int(ck.Step)))
//		… one step from a batch drawn with pcg …
//		if ck.Step++; ck.Step%1000 == 0 {
//			if err := ck.Save(path); err != nil {
//				return err
//			}
//		}
//	}
//
// What a run draws from must be in the checkpoint, or be a function of the step; then a resumed run gives the same bits
// as one that was never killed, on the same device.
//
// Sources: Kingma and Ba (2015), Loshchilov and Hutter (2017, 2019), Abadi et al. (2016), Goodfellow (2015).
package train
