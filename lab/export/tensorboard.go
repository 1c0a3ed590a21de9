package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"coupling/lab"
	"coupling/lab/durable"

	"google.golang.org/protobuf/encoding/protowire"
)

// TensorBoard writes a cell as an event file, below dir/EXPERIMENT/KEY: each number
// of the result as a scalar, a list as a series of steps, and the parameters for
// the HParams tab. Scalars are float32, as that format has them.
//
//	tensorboard --logdir DIR
func TensorBoard(dir string, r lab.Record) error {
	ms, ps, err := split(r)
	if err != nil {
		return err
	}
	start := float64(r.Manifest.Start.UnixNano()) / 1e9
	var b bytes.Buffer
	record(&b, event(start, 0, 3, []byte("brain.Event:2")))
	record(&b, event(start, 0, 5, hparams("_hparams_/session_start_info", 3, sessionStart(r, ps, start))))
	for _, m := range ms {
		for step, x := range m.series {
			// A series has no times of its own: its steps are spread over the run.
			at := start + r.Manifest.Seconds*float64(step+1)/float64(len(m.series))
			record(&b, event(at, step, 5, scalar(m.name, float32(x))))
		}
	}
	end := protowire.AppendTag(nil, 1, protowire.VarintType) // Status STATUS_SUCCESS = 1, STATUS_FAILURE = 2
	status := uint64(1)
	if r.Error != "" {
		status = 2
	}
	end = protowire.AppendVarint(end, status)
	end = appendDouble(end, 2, start+r.Manifest.Seconds)
	record(&b, event(start+r.Manifest.Seconds, 0, 5, hparams("_hparams_/session_end_info", 4, end)))
	name := fmt.Sprintf("events.out.tfevents.%d.%s", r.Manifest.Start.Truncate(time.Second).Unix(), r.Key.Short())
	path := filepath.Join(dir, filepath.FromSlash(r.Experiment), string(r.Key), name)
	return durable.Write(path, b.Bytes())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is TFRecord's checksum: CRC-32C, rotated right by 15 and shifted by a
// constant, so that a checksum of data with checksums in it stays good.
func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// record appends a TFRecord: length, its checksum, data, its checksum, all little
// endian.
func record(b *bytes.Buffer, data []byte) {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b.Write(length)
	b.Write(binary.LittleEndian.AppendUint32(nil, masked(length)))
	b.Write(data)
	b.Write(binary.LittleEndian.AppendUint32(nil, masked(data)))
}

// event is tensorflow.Event{wall_time: 1, step: 2, file_version: 3 | summary: 5}.
func event(wall float64, step int, field protowire.Number, what []byte) []byte {
	b := appendDouble(nil, 1, wall)
	if step != 0 {
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(step))
	}
	if field == 5 { // Summary{value: 1}
		what = appendBytes(nil, 1, what)
	}
	return appendBytes(b, field, what)
}

// scalar is Summary.Value{tag: 1, simple_value: 2}.
func scalar(tag string, x float32) []byte {
	b := appendBytes(nil, 1, []byte(tag))
	b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, math.Float32bits(x))
}

// hparams is a Summary.Value{tag: 1, tensor: 8, metadata: 9} whose metadata carry
// HParamsPluginData{field: content}, and whose tensor is an empty one of float32.
func hparams(tag string, field protowire.Number, content []byte) []byte {
	plugin := appendBytes(nil, 1, []byte("hparams"))
	plugin = appendBytes(plugin, 2, appendBytes(nil, field, content))
	b := appendBytes(nil, 1, []byte(tag))
	tensor := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1) // DT_FLOAT
	tensor = appendBytes(tensor, 2, appendBytes(nil, 2, nil))                              // shape [0]
	b = appendBytes(b, 8, tensor)
	return appendBytes(b, 9, appendBytes(nil, 1, plugin))
}

// sessionStart is SessionStartInfo{hparams: 1, group_name: 4, start_time_secs: 5}.
func sessionStart(r lab.Record, ps map[string]any, start float64) []byte {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(ps)) {
		entry := appendBytes(nil, 1, []byte(name))
		b = appendBytes(b, 1, appendBytes(entry, 2, protoValue(ps[name])))
	}
	b = appendBytes(b, 4, []byte(r.Key))
	return appendDouble(b, 5, start)
}

// protoValue is google.protobuf.Value{number: 2, string: 3, bool: 4}.
func protoValue(v any) []byte {
	switch v := v.(type) {
	case float64:
		return appendDouble(nil, 2, v)
	case bool:
		b := protowire.AppendTag(nil, 4, protowire.VarintType)
		return protowire.AppendVarint(b, protowire.EncodeBool(v))
	}
	return appendBytes(nil, 3, []byte(lab.FormatCell(v)))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendDouble(b []byte, field protowire.Number, x float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(x))
}
