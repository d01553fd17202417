// Conversions between f32 and the two 16-bit formats of model files.
#ifndef ATTUNE_ENGINE_TENSOR_HALF_H_
#define ATTUNE_ENGINE_TENSOR_HALF_H_

#include <cstdint>

namespace attune {

// IEEE 754 binary16 to f32: exact, subnormals, infinities and NaN included.
float F16ToF32(uint16_t bits);

// bfloat16 to f32: exact.
float Bf16ToF32(uint16_t bits);

// f32 to IEEE 754 binary16, round to nearest, ties to even; subnormals included. What is beyond
// 65,504 by half a step or more becomes an infinity. NaN stays NaN (quiet).
uint16_t F32ToF16(float value);

// f32 to bfloat16, round to nearest, ties to even. NaN stays NaN (quiet).
uint16_t F32ToBf16(float value);

}  // namespace attune

#endif  // ATTUNE_ENGINE_TENSOR_HALF_H_
