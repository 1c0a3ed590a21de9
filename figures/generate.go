package figures

//go:generate go run ./scripts/internal/generate
