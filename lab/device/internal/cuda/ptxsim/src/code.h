// A kernel as the interpreter has it: decoded instructions, and the place of everything that they name.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

constexpr int lanes = 32;
constexpr u32 all_lanes = ~0u;

struct Context;
struct Insn;
typedef void (*Run)(Context&, const Insn&);

// Kind is what an instruction does to the flow of a warp; one of kind warp waits for all its lanes.
enum class Kind : u8 { straight, branch, barrier, warp, end };

// Class is what an instruction counts as.
enum class Class : u8 {
  f32, f64, i32, i64, cvt, sfu, div, load, store, load_shared, store_shared, load_param, load_const, atom, shfl, mma, bar,
  branch, mov,
};
constexpr const char* class_names[] = {"f32", "f64", "i32", "i64", "cvt", "sfu", "div", "ldg", "stg", "lds", "sts",
    "ldp", "ldc", "atom", "shfl", "mma", "bar", "bra", "mov"};

// Width is the size of a register in a lane, in bytes; a predicate is one bit.
enum Width : u8 { predicate = 0, half = 2, word = 4, wide = 8 };

// Reg is the place of a register among those of a warp: offset bytes from their beginning are 32 values, or 32 bits if
// it is a predicate. Constants lie there too and have no number.
struct Reg {
  u32 offset = 0;
  Width width = word;
  int number = -1;
};

// An Opcode is an instruction without its operands.
struct Opcode {
  Run run = nullptr;
  Class counts = Class::mov;
  std::vector<Width> widths = {}; // of the destination and the sources
};
const std::map<std::string, Opcode>& arithmetic(); // everything that touches registers alone

struct Insn {
  Run run = nullptr;
  Kind kind = Kind::straight;
  Class counts = Class::mov;
  u32 to = 0, from[3] = {};         // registers
  u32 parts[4] = {};                // registers of a vector
  std::vector<u32> factors;         // of mma
  u8 vector = 1;
  bool negated = false, read_only = false; // of a branch's predicate; ld.global.nc
  s64 number = 0;                   // added to an address; mask of a shuffle
  u32 target = 0;                   // of a branch
  int line = 0;                     // in the module
  std::vector<u16> reads, writes;   // registers by number
  std::string op, text;
};

struct Param {
  u32 offset, size;
};

struct Kernel {
  std::string name;
  std::vector<Insn> code;
  std::vector<Param> params;
  u32 params_size = 0, shared_size = 0, threads = 1024;
  u32 registers = 0;                    // how many have numbers
  std::vector<char> start;              // registers of a warp before its first instruction: constants in their places
  Reg tid, ctaid[3], nctaid[3], ntid;   // special registers, offset 0 where the kernel does not read them
  std::shared_ptr<std::vector<u8>> constants;
  bool runnable = true;                 // false: machine code, of which only the name is known
};
typedef std::map<std::string, std::shared_ptr<Kernel>> Kernels;

// parse decodes a module of PTX. It throws Unreadable, which says where and why.
struct Unreadable {
  std::string why;
};
Kernels parse(const std::string& text);

// contract fuses products and sums that have no rounding of their own (.rn) within basic blocks, as ptxas may.
void contract(Kernel& k);

} // namespace ptx
