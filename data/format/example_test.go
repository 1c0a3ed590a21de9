package format_test

import (
	"bytes"
	"fmt"
	"strings"

	"coupling/data/format"
)

func ExampleReadIDX() {
	file := "\x00\x00\x08\x02" + "\x00\x00\x00\x02" + "\x00\x00\x00\x03" + "\x01\x02\x03\x04\x05\x06"
	array, err := format.ReadIDX(strings.NewReader(file), 1000)
	fmt.Println(array.Dims, array.Data, err)

	_, err = format.ReadIDX(strings.NewReader(file[:15]), 1000)
	fmt.Println(err)
	// Output:
	// [2 3] [1 2 3 4 5 6] <nil>
	// bad file: truncated: 3 bytes of IDX values, want 6
}

func ExampleWriteNPY() {
	var file bytes.Buffer
	if err := format.WriteNPY(&file, []int{2, 2}, []float32{1, 2, 3, 4}); err != nil {
		fmt.Println(err)
	}
	array, err := format.ReadNPY[float32](&file, 1000)
	fmt.Println(array.Shape, array.Data, err)
	// Output: [2 2] [1 2 3 4] <nil>
}
