/*===- nvfp4_device.h - Devices that kernels run on -----------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Plain C interface to devices: memory, streams, events, modules, launches and
 * tensor maps. Three devices offer it:
 *
 *   cpu     memory and streams of the host; it loads no modules
 *   cuda    a GPU; the driver libcuda.so.1 is opened when it is asked for
 *   sim     the PTX simulator; libnvfp4_sim.so is opened when it is asked for
 *
 * Like nvfp4_runtime.h, functions return a status and nvfp4_last_error() says
 * why. Errors of kernels may come back from any later call on the device. On
 * `sim`, reports of a run make the next synchronisation fail, and the error is
 * their text.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_DEVICE_H
#define NVFP4_RUNTIME_NVFP4_DEVICE_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===- Devices -----------------------------------------------------------===*/

typedef struct nvfp4_device nvfp4_device;

/* Opens `cpu`, `cuda`, `sim`, or a GPU by number as in `cuda:1`. Null stands
 * for the environment variable NVFP4_DEVICE, and where that is not set for
 * `cuda`. NVFP4_SIM_OPTIONS holds options of `sim`, as on the command line of
 * nvfp4-sim. */
NVFP4_API nvfp4_status nvfp4_device_open(const char *name,
                                         nvfp4_device **device);

/* Everything that was made on the device must be released before. Null is
 * allowed. */
NVFP4_API void nvfp4_device_release(nvfp4_device *device);

typedef struct nvfp4_device_info {
  /* "cpu", "cuda" or "sim"; lives as long as the device, like `name`. */
  const char *kind;
  const char *name;
  int ordinal;
  /* Compute capability times 10, as in sm_100; 0 for the CPU. */
  int architecture;
  int multiprocessors;
  /* Bytes of shared memory that one CTA may use. */
  size_t shared_memory;
  /* Bytes of device memory. */
  size_t memory;
} nvfp4_device_info;

NVFP4_API nvfp4_status nvfp4_device_query(nvfp4_device *device,
                                          nvfp4_device_info *info);

/* Waits for all work on the device. */
NVFP4_API nvfp4_status nvfp4_device_synchronize(nvfp4_device *device);

/*===- Streams and events ------------------------------------------------===*/

/* CUstream and CUevent on `cuda`; a null stream is the default stream. */
typedef struct nvfp4_stream nvfp4_stream;
typedef struct nvfp4_event nvfp4_event;

/* A stream that does not wait for the default stream. */
NVFP4_API nvfp4_status nvfp4_stream_create(nvfp4_device *device,
                                           nvfp4_stream **stream);
/* Work that was put in the stream is still done. */
NVFP4_API nvfp4_status nvfp4_stream_destroy(nvfp4_device *device,
                                            nvfp4_stream *stream);
/* Waits for the work of the stream. */
NVFP4_API nvfp4_status nvfp4_stream_synchronize(nvfp4_device *device,
                                                nvfp4_stream *stream);
/* What follows in the stream waits for the event. */
NVFP4_API nvfp4_status nvfp4_stream_wait_event(nvfp4_device *device,
                                               nvfp4_stream *stream,
                                               nvfp4_event *event);

/* Events without timing (0) are cheaper on a GPU. */
NVFP4_API nvfp4_status nvfp4_event_create(nvfp4_device *device, int timing,
                                          nvfp4_event **event);
/* The event need not have happened. */
NVFP4_API nvfp4_status nvfp4_event_destroy(nvfp4_device *device,
                                           nvfp4_event *event);
/* The event happens when the work that is in the stream now is done. */
NVFP4_API nvfp4_status nvfp4_event_record(nvfp4_device *device,
                                          nvfp4_event *event,
                                          nvfp4_stream *stream);
/* Waits until a recorded event has happened. */
NVFP4_API nvfp4_status nvfp4_event_synchronize(nvfp4_device *device,
                                               nvfp4_event *event);
/* Milliseconds between two recorded events; on `sim` those of the host. */
NVFP4_API nvfp4_status nvfp4_event_elapsed(nvfp4_device *device,
                                           nvfp4_event *start, nvfp4_event *end,
                                           float *milliseconds);

/*===- Memory ------------------------------------------------------------===*/

/* At least one byte, aligned to 256 bytes, not initialised. */
NVFP4_API nvfp4_status nvfp4_device_alloc(nvfp4_device *device, size_t bytes,
                                          void **pointer);
/* Frees what nvfp4_device_alloc gave; null is allowed. */
NVFP4_API nvfp4_status nvfp4_device_free(nvfp4_device *device, void *pointer);

/* Copies between any two places that the device reaches. With a stream the
 * copy is ordered in it; without, it is complete on return. */
NVFP4_API nvfp4_status nvfp4_device_copy(nvfp4_device *device, void *target,
                                         const void *source, size_t bytes,
                                         nvfp4_stream *stream);

/* Stores `count` elements of `width` bytes (1, 2 or 4), the low bits of
 * `value`. */
NVFP4_API nvfp4_status nvfp4_device_fill(nvfp4_device *device, void *target,
                                         uint32_t value, unsigned width,
                                         size_t count, nvfp4_stream *stream);

/* Lets kernels use memory of the host at its own address, until it is
 * unregistered. */
NVFP4_API nvfp4_status nvfp4_device_register_host(nvfp4_device *device,
                                                  void *pointer, size_t bytes);
/* Ends that, by the pointer that was registered. */
NVFP4_API nvfp4_status nvfp4_device_unregister_host(nvfp4_device *device,
                                                    void *pointer);

/*===- Modules and kernels -----------------------------------------------===*/

typedef struct nvfp4_device_module nvfp4_device_module;
typedef struct nvfp4_kernel nvfp4_kernel;

/* Loads PTX text that ends with a zero byte, a fat binary, or on `cuda` a
 * cubin. The image is not needed afterwards. */
NVFP4_API nvfp4_status nvfp4_device_module_load(nvfp4_device *device,
                                                const void *image,
                                                nvfp4_device_module **module);
/* Unloads it; its kernels are gone then. Null is allowed. */
NVFP4_API void nvfp4_device_module_release(nvfp4_device_module *module);

/* The kernel called `name`; lives as long as the module. */
NVFP4_API nvfp4_status nvfp4_device_module_kernel(nvfp4_device_module *module,
                                                  const char *name,
                                                  nvfp4_kernel **kernel);

/* Address and bytes of the variable called `name`; `bytes` may be null. */
NVFP4_API nvfp4_status nvfp4_device_module_variable(nvfp4_device_module *module,
                                                    const char *name,
                                                    void **pointer,
                                                    size_t *bytes);

/* The kernel may start before the one ahead of it in the stream has ended, and
 * waits for it by griddepcontrol. On `sim` launches follow each other. */
#define NVFP4_LAUNCH_PROGRAMMATIC 1u
/* Blocks wait for one another, so all of them run at the same time or none
 * does: an error if the device has not so many places. Not with the flag above:
 * no document says what both mean. */
#define NVFP4_LAUNCH_COOPERATIVE 2u

typedef struct nvfp4_launch {
  uint32_t grid[3];
  uint32_t block[3];
  /* CTAs of a cluster; all zero for what the kernel itself says. */
  uint32_t cluster[3];
  /* Bytes of dynamic shared memory; limits are raised as needed. */
  uint32_t shared_memory;
  uint32_t flags;
  nvfp4_stream *stream;
} nvfp4_launch;

/* Starts a kernel. `arguments` holds a pointer to each parameter's value; they
 * are read before the call returns. */
NVFP4_API nvfp4_status nvfp4_kernel_launch(nvfp4_kernel *kernel,
                                           const nvfp4_launch *launch,
                                           void *const *arguments);

/*===- Tensor maps -------------------------------------------------------===*/

/* Numbers of CUtensorMapDataType. */
typedef enum nvfp4_tensor_map_type {
  NVFP4_TENSOR_U8 = 0,
  NVFP4_TENSOR_U16 = 1,
  NVFP4_TENSOR_U32 = 2,
  NVFP4_TENSOR_S32 = 3,
  NVFP4_TENSOR_U64 = 4,
  NVFP4_TENSOR_S64 = 5,
  NVFP4_TENSOR_F16 = 6,
  NVFP4_TENSOR_F32 = 7,
  NVFP4_TENSOR_F64 = 8,
  NVFP4_TENSOR_BF16 = 9,
  NVFP4_TENSOR_F32_FTZ = 10,
  NVFP4_TENSOR_TF32 = 11,
  NVFP4_TENSOR_TF32_FTZ = 12,
  /* 4-bit elements, packed in shared memory too. */
  NVFP4_TENSOR_U4_PACKED = 13,
  /* 16 elements of 4 or 6 bits take 16 bytes of shared memory. */
  NVFP4_TENSOR_U4_PADDED = 14,
  NVFP4_TENSOR_U6_PADDED = 15
} nvfp4_tensor_map_type;

/* Numbers of CUtensorMapSwizzle. */
typedef enum nvfp4_tensor_map_swizzle {
  NVFP4_SWIZZLE_NONE = 0,
  NVFP4_SWIZZLE_32B = 1,
  NVFP4_SWIZZLE_64B = 2,
  NVFP4_SWIZZLE_128B = 3,
  NVFP4_SWIZZLE_128B_ATOM_32B = 4,
  NVFP4_SWIZZLE_128B_ATOM_32B_FLIP_8B = 5,
  NVFP4_SWIZZLE_128B_ATOM_64B = 6
} nvfp4_tensor_map_swizzle;

/* A tiled tensor in device memory. Dimension 0 is the innermost one, whose
 * elements follow each other. */
typedef struct nvfp4_tensor_map_spec {
  nvfp4_tensor_map_type type;
  /* 1 to 5. */
  uint32_t rank;
  void *address;
  /* Elements. */
  uint64_t size[5];
  /* Bytes from one index of dimension d + 1 to the next. */
  uint64_t stride[4];
  /* Elements of the box that one instruction copies, 1 to 256. */
  uint32_t box[5];
  /* 1 to 8; 0 counts as 1. */
  uint32_t element_stride[5];
  nvfp4_tensor_map_swizzle swizzle;
  /* 0 none, 1 64 bytes, 2 128 bytes, 3 256 bytes. */
  int l2_promotion;
  /* Nonzero: elements outside are NaN instead of zero. */
  int fill_nan;
} nvfp4_tensor_map_spec;

/* Encodes a tensor map to 128 bytes at a multiple of 64. The bytes are opaque
 * and differ between devices. */
NVFP4_API nvfp4_status nvfp4_tensor_map_encode(
    nvfp4_device *device, const nvfp4_tensor_map_spec *spec, void *map);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_DEVICE_H */
