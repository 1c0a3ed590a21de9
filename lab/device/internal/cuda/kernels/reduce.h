// What reductions over any axes share. A block of 256 threads serves 256/lanes outputs with lanes
// threads each; long reductions are split over blockIdx.y as well, and a second kernel joins the
// parts. lanes and splits are functions of shapes, so the order of summation is.
#pragma once
#include "axes.h"

constexpr u32 width = 256;

// Part is what is known of a part of a reduction: up to three numbers.
struct Part {
  double a, b, c;
};

// Job is where elements lie: kept axes in out, reduced axes in over, and how the work is cut.
// Mirrored by the Go type job.
struct Job {
  Axes out, over;
  i64 chunk;           // elements of a split
  i32 lanes, columns;  // columns: neighbours in x belong to neighbouring outputs
};

// reduce_parts: take(part, output, element, origin, first) adds an element to a thread's part,
// origin is where the output's first one lies, close(part, count) is called when it has all of
// them, join(part, other) adds another thread's, and put(output, part) writes where there is one
// split.
template <class Take, class Close, class Join, class Put>
DEV void reduce_parts(Out<Part> parts, const Job& job, Part empty, Take take, Close close, Join join, Put put) {
  SHARED(Part, held, [width]);
  u32 lanes = (u32)job.lanes, outs = width / lanes;
  u32 lane = job.columns ? tid() / outs : tid() % lanes;
  u32 local = job.columns ? tid() % outs : tid() / lanes;
  i64 o = (i64)bidx() * outs + local;
  Part p = empty;
  if (o < job.out.len) {
    i64 base[1], off[1], count = 0;
    place(job.out, o, base);
    i64 from = (i64)bidy() * job.chunk, to = smaller(from + job.chunk, job.over.len);
    for (i64 r = from + lane; r < to; r += lanes, count++) {
      place(job.over, r, off);
      take(p, o, base[0] + off[0], base[0], count == 0);
    }
    close(p, count);
  }
  u32 me = lane * outs + local;
  held[me] = p;
  for (u32 half = lanes / 2; half > 0; half /= 2) {
    barrier();
    if (lane < half) join(held[me], held[me + half * outs]);
  }
  if (lane == 0 && o < job.out.len) {
    if (blocksy() == 1) put(o, held[me]);
    else parts[(i64)bidy() * job.out.len + o] = held[me];
  }
}

// finish_parts joins the splits, a thread an output.
template <class Join, class Put> DEV void finish_parts(In<Part> parts, i64 outs, i64 splits, Part empty, Join join,
    Put put) {
  EACH(o, outs) {
    Part p = empty;
    for (i64 s = 0; s < splits; s++) join(p, parts[s * outs + o]);
    put(o, p);
  }
}
