# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments and defaults of the classes and functions of cuDNN frontend 1.32 that this package has.

The key is the name of a function, of a class (its constructor) or of ``Class.execute``. Types are named by their words:
``float32`` stands for cuDNN's constant of that name.
"""

from __future__ import annotations

import ast
import functools
import inspect

__all__ = ["TEXTS", "signature"]

#: Parameters as Python writes them.
TEXTS: dict[str, str] = {
    "GroupedGemmQuantSm100": (
        'sample_a, sample_sfa, sample_padded_offsets, sample_alpha, sample_d, sample_d_col=None, sample_b=None, '
        'sample_sfb=None, sample_bias=None, num_experts=None, b_shape=None, b_dtype=None, sample_sfd_row=None, '
        'sample_sfd_col=None, sample_amax=None, sample_norm_const=None, sample_prob=None, sample_row_scale=None, '
        'acc_dtype=None, mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, sf_fp8_dtype_override=None, '
        'vector_f32=False, m_aligned=256, discrete_col_sfd=False, b_major="k", use_dynamic_sched=False, '
        'use_single_group_runtime_offsets=False, *, sample_scheduler_counter=None'),
    "GroupedGemmQuantSm100.execute": (
        'a_tensor, sfa_tensor, padded_offsets, alpha_tensor, d_tensor, b_tensor=None, sfb_tensor=None, bias_tensor=None, '
        'b_ptrs=None, sfb_ptrs=None, d_col_tensor=None, sfd_row_tensor=None, sfd_col_tensor=None, amax_tensor=None, '
        'norm_const_tensor=None, prob_tensor=None, row_scale_tensor=None, current_stream=None, *, '
        'scheduler_counter_tensor=None'),
    "grouped_gemm_quant_wrapper_sm100": (
        'a_tensor, sfa_tensor, padded_offsets, alpha_tensor, b_tensor=None, sfb_tensor=None, bias_tensor=None, '
        'b_ptrs=None, sfb_ptrs=None, n=None, b_dtype=None, b_major="k", norm_const_tensor=None, prob_tensor=None, '
        'row_scale_tensor=None, acc_dtype=None, d_dtype=None, d_tensor=None, cd_major="n", mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, sf_fp8_dtype_override=None, vector_f32=False, m_aligned=256, '
        'discrete_col_sfd=False, use_dynamic_sched=False, use_single_group_runtime_offsets=False, current_stream=None, *, '
        'generate_amax=True, scheduler_counter_tensor=None'),
    "GroupedGemmSreluSm100": (
        'sample_a, sample_b=None, sample_c=None, sample_d=None, sample_sfa=None, sample_sfb=None, '
        'sample_padded_offsets=None, sample_alpha=None, sample_d_col=None, sample_bias=None, num_experts=None, '
        'b_shape=None, b_dtype=None, sample_sfd_row=None, sample_sfd_col=None, sample_amax=None, sample_norm_const=None, '
        'sample_prob=None, acc_dtype=None, mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, '
        'vector_f32=False, m_aligned=256, discrete_col_sfd=False, b_major="k", use_dynamic_sched=False, '
        'tanh_clamp_scale=None'),
    "GroupedGemmSreluSm100.execute": (
        'a_tensor, sfa_tensor, padded_offsets, alpha_tensor, c_tensor, d_tensor, b_tensor=None, sfb_tensor=None, '
        'bias_tensor=None, b_ptrs=None, sfb_ptrs=None, d_col_tensor=None, sfd_row_tensor=None, sfd_col_tensor=None, '
        'amax_tensor=None, norm_const_tensor=None, prob_tensor=None, current_stream=None'),
    "grouped_gemm_srelu_wrapper_sm100": (
        'a_tensor, b_tensor=None, sfa_tensor=None, sfb_tensor=None, padded_offsets=None, alpha_tensor=None, '
        'bias_tensor=None, b_ptrs=None, sfb_ptrs=None, n=None, b_dtype=None, b_major="k", norm_const_tensor=None, '
        'prob_tensor=None, acc_dtype=None, c_dtype=None, d_dtype=None, cd_major="n", mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, discrete_col_sfd=False, '
        'use_dynamic_sched=False, tanh_clamp_scale=None, current_stream=None'),
    "GroupedGemmGluSm100": (
        'sample_a, sample_c, sample_d, sample_sfa, sample_padded_offsets, sample_alpha, sample_d_col, sample_b=None, '
        'sample_sfb=None, sample_bias=None, num_experts=None, b_shape=None, b_dtype=None, sample_sfd_row=None, '
        'sample_sfd_col=None, sample_amax=None, sample_norm_const=None, sample_prob=None, acc_dtype=None, '
        'mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, sf_fp8_dtype_override=None, vector_f32=False, '
        'm_aligned=256, discrete_col_sfd=False, act_func="swiglu", situ_beta1=4.0, b_major="k", use_dynamic_sched=False, '
        'use_single_group_runtime_offsets=False, generate_c=False, *, sample_scheduler_counter=None'),
    "GroupedGemmGluSm100.execute": (
        'a_tensor, c_tensor, d_tensor, sfa_tensor, padded_offsets, alpha_tensor, b_tensor=None, sfb_tensor=None, '
        'bias_tensor=None, b_ptrs=None, sfb_ptrs=None, d_col_tensor=None, sfd_row_tensor=None, sfd_col_tensor=None, '
        'amax_tensor=None, norm_const_tensor=None, prob_tensor=None, linear_offset=None, geglu_alpha=1.702, '
        'glu_clamp_max=7.0, glu_clamp_min=-7.0, situ_beta1=4.0, situ_beta2=25.0, current_stream=None, *, '
        'scheduler_counter_tensor=None'),
    "grouped_gemm_glu_wrapper_sm100": (
        'a_tensor, sfa_tensor, padded_offsets, alpha_tensor, b_tensor=None, sfb_tensor=None, bias_tensor=None, '
        'b_ptrs=None, sfb_ptrs=None, n=None, b_dtype=None, b_major="k", norm_const_tensor=None, prob_tensor=None, '
        'acc_dtype=None, c_dtype=None, d_dtype=None, cd_major="n", mma_tiler_mn=(256, 256), cluster_shape_mn=None, '
        'sf_vec_size=16, vector_f32=False, m_aligned=256, discrete_col_sfd=False, act_func="swiglu", linear_offset=None, '
        'geglu_alpha=1.702, glu_clamp_max=7.0, glu_clamp_min=-7.0, situ_beta1=4.0, situ_beta2=25.0, '
        'use_dynamic_sched=False, use_single_group_runtime_offsets=False, current_stream=None, generate_c=False, '
        'sf_fp8_dtype_override=None, *, scheduler_counter_tensor=None'),
    "GroupedGemmSwigluSm100": (
        'sample_a, sample_b, sample_c, sample_d, sample_sfa, sample_sfb, sample_padded_offsets, sample_alpha, '
        'sample_d_col, sample_sfd_row=None, sample_sfd_col=None, sample_amax=None, sample_norm_const=None, '
        'sample_prob=None, acc_dtype=None, mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, '
        'vector_f32=False, m_aligned=256, discrete_col_sfd=False'),
    "GroupedGemmSwigluSm100.execute": (
        'a_tensor, b_tensor, c_tensor, d_tensor, sfa_tensor, sfb_tensor, padded_offsets, alpha_tensor, d_col_tensor=None, '
        'sfd_row_tensor=None, sfd_col_tensor=None, amax_tensor=None, norm_const_tensor=None, prob_tensor=None, '
        'current_stream=None'),
    "grouped_gemm_swiglu_wrapper_sm100": (
        'a_tensor, b_tensor, sfa_tensor, sfb_tensor, padded_offsets, alpha_tensor, norm_const_tensor=None, '
        'prob_tensor=None, acc_dtype=None, c_dtype=None, d_dtype=None, cd_major="n", mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, discrete_col_sfd=False, '
        'current_stream=None'),
    "GroupedGemmGluHadamardSm100": (
        'sample_a, sample_c, sample_d, sample_sfa, sample_padded_offsets, sample_alpha, sample_prob, sample_b=None, '
        'sample_sfb=None, num_experts=None, b_shape=None, b_dtype=None, b_major="k", sample_amax=None, '
        'sample_post_rht_amax=None, sample_bias=None, sample_hadamard=None, acc_dtype=None, mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, act_func="swiglu", situ_beta1=4.0, '
        'situ_beta2=25.0, use_dynamic_sched=False, use_tmem_post_rht_amax=False'),
    "GroupedGemmGluHadamardSm100.execute": (
        'a_tensor, c_tensor, d_tensor, sfa_tensor, padded_offsets, alpha_tensor, prob_tensor, b_tensor=None, '
        'sfb_tensor=None, b_ptrs=None, sfb_ptrs=None, hadamard_tensor=None, amax_tensor=None, post_rht_amax_tensor=None, '
        'bias_tensor=None, situ_beta1=None, situ_beta2=None, current_stream=None'),
    "grouped_gemm_glu_hadamard_wrapper_sm100": (
        'a_tensor, sfa_tensor, padded_offsets, alpha_tensor, prob_tensor, b_tensor=None, sfb_tensor=None, b_ptrs=None, '
        'sfb_ptrs=None, n=None, b_dtype=None, b_major="k", bias_tensor=None, acc_dtype=None, c_dtype=None, d_dtype=None, '
        'cd_major="n", mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, '
        'act_func="swiglu", situ_beta1=4.0, situ_beta2=25.0, use_dynamic_sched=False, use_tmem_post_rht_amax=False, '
        'current_stream=None'),
    "GroupedGemmDgluSm100": (
        'sample_a, sample_c, sample_d_row, sample_d_col, sample_sfa, sample_padded_offsets, sample_alpha, sample_beta, '
        'sample_prob, sample_dprob, sample_b=None, sample_sfb=None, sample_dbias=None, num_experts=None, b_shape=None, '
        'b_dtype=None, sample_sfd_row=None, sample_sfd_col=None, sample_amax=None, sample_norm_const=None, '
        'acc_dtype=None, mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, sf_fp8_dtype_override=None, '
        'vector_f32=False, m_aligned=256, discrete_col_sfd=False, act_func="dswiglu", b_major="k", epilogue_op=None, '
        'use_dynamic_sched=False, use_single_group_runtime_offsets=False, linear_offset=None, geglu_alpha=1.702, '
        'glu_clamp_max=7.0, glu_clamp_min=-7.0, situ_beta1=4.0, situ_beta2=25.0, round_dgrad_to_input_dtype=False, '
        'sample_activation=None, _deterministic=False'),
    "GroupedGemmDgluSm100.execute": (
        'a_tensor, c_tensor, d_row_tensor, d_col_tensor, sfa_tensor, padded_offsets, alpha_tensor, beta_tensor, '
        'prob_tensor, dprob_tensor, b_tensor=None, sfb_tensor=None, dbias_tensor=None, b_ptrs=None, sfb_ptrs=None, '
        'sfd_row_tensor=None, sfd_col_tensor=None, amax_tensor=None, norm_const_tensor=None, current_stream=None, '
        'activation_tensor=None, *, workspace=None'),
    "grouped_gemm_dglu_wrapper_sm100": (
        'a_tensor, c_tensor, sfa_tensor, padded_offsets, alpha_tensor, beta_tensor, prob_tensor, dprob_tensor, '
        'b_tensor=None, sfb_tensor=None, generate_dbias=False, b_ptrs=None, sfb_ptrs=None, n=None, b_dtype=None, '
        'b_major="k", norm_const_tensor=None, acc_dtype=None, d_dtype=None, cd_major="n", mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, sf_fp8_dtype_override=None, vector_f32=False, m_aligned=256, '
        'discrete_col_sfd=False, act_func="dswiglu", linear_offset=None, geglu_alpha=1.702, glu_clamp_max=7.0, '
        'glu_clamp_min=-7.0, situ_beta1=4.0, situ_beta2=25.0, epilogue_op=None, use_dynamic_sched=False, '
        'use_single_group_runtime_offsets=False, current_stream=None, round_dgrad_to_input_dtype=False, '
        'activation_tensor=None, deterministic=False'),
    "GroupedGemmDswigluSm100": (
        'sample_a, sample_b, sample_c, sample_d_row, sample_d_col, sample_sfa, sample_sfb, sample_padded_offsets, '
        'sample_alpha, sample_beta, sample_prob, sample_dprob, sample_sfd_row=None, sample_sfd_col=None, '
        'sample_amax=None, sample_norm_const=None, acc_dtype=None, mma_tiler_mn=(256, 256), cluster_shape_mn=None, '
        'sf_vec_size=16, vector_f32=False, m_aligned=256, discrete_col_sfd=False, epilogue_op=None'),
    "GroupedGemmDswigluSm100.execute": (
        'a_tensor, b_tensor, c_tensor, d_row_tensor, d_col_tensor, sfa_tensor, sfb_tensor, padded_offsets, alpha_tensor, '
        'beta_tensor, prob_tensor, dprob_tensor, sfd_row_tensor=None, sfd_col_tensor=None, amax_tensor=None, '
        'norm_const_tensor=None, current_stream=None'),
    "grouped_gemm_dswiglu_wrapper_sm100": (
        'a_tensor, b_tensor, c_tensor, sfa_tensor, sfb_tensor, padded_offsets, alpha_tensor, beta_tensor, prob_tensor, '
        'norm_const_tensor=None, acc_dtype=None, d_dtype=None, cd_major="n", mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, discrete_col_sfd=False, '
        'epilogue_op=None, current_stream=None, dprob_tensor_buf=None, amax_tensor_buf=None'),
    "GroupedGemmDsreluSm100": (
        'sample_a, sample_b=None, sample_c=None, sample_d_row=None, sample_d_col=None, sample_d_srelu=None, '
        'sample_sfa=None, sample_sfb=None, sample_padded_offsets=None, sample_alpha=None, sample_prob=None, '
        'sample_dprob=None, sample_dbias=None, sample_dprob_workspace=None, sample_dbias_workspace=None, '
        'num_experts=None, b_shape=None, b_dtype=None, sample_sfd_row=None, sample_sfd_col=None, '
        'sample_sfd_col_d_srelu=None, sample_amax=None, sample_norm_const=None, acc_dtype=None, mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, discrete_col_sfd=False, b_major="k", '
        'use_dynamic_sched=False, use_dsrelu_reuse=False, deterministic=False, tanh_clamp_scale=None'),
    "GroupedGemmDsreluSm100.execute": (
        'a_tensor, c_tensor, d_row_tensor, d_col_tensor, sfa_tensor, padded_offsets, alpha_tensor, prob_tensor, '
        'dprob_tensor, b_tensor=None, sfb_tensor=None, dbias_tensor=None, dprob_workspace_tensor=None, '
        'dbias_workspace_tensor=None, b_ptrs=None, sfb_ptrs=None, sfd_row_tensor=None, sfd_col_tensor=None, '
        'd_srelu_tensor=None, sfd_col_d_srelu_tensor=None, amax_tensor=None, norm_const_tensor=None, current_stream=None'),
    "grouped_gemm_dsrelu_wrapper_sm100": (
        'a_tensor, b_tensor=None, c_tensor=None, sfa_tensor=None, sfb_tensor=None, padded_offsets=None, '
        'alpha_tensor=None, prob_tensor=None, dprob_tensor=None, generate_dbias=False, b_ptrs=None, sfb_ptrs=None, '
        'n=None, b_dtype=None, b_major="k", norm_const_tensor=None, acc_dtype=None, d_dtype=None, cd_major="n", '
        'mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, '
        'discrete_col_sfd=False, use_dynamic_sched=False, use_dsrelu_reuse=False, deterministic=None, '
        'tanh_clamp_scale=None, current_stream=None'),
    "get_grouped_gemm_wgrad_workspace_size_sm100": (
        'num_experts, *, output_mode="dense", input_order="tensor2d"'),
    "GroupedGemmSm100": (
        'sample_a, sample_c, sample_d, sample_padded_offsets, sample_alpha, sample_b=None, sample_bias=None, '
        'sample_prob=None, num_experts=None, b_shape=None, b_dtype=None, acc_dtype=None, mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, vector_f32=False, m_aligned=256, generate_c=False, b_major="k", use_dynamic_sched=False'),
    "GroupedGemmSm100.execute": (
        'a_tensor, c_tensor, d_tensor, padded_offsets, alpha_tensor, b_tensor=None, b_ptrs=None, bias_tensor=None, '
        'prob_tensor=None, current_stream=None'),
    "grouped_gemm_wrapper_sm100": (
        'a_tensor, padded_offsets, alpha_tensor, b_tensor=None, bias_tensor=None, b_ptrs=None, n=None, b_dtype=None, '
        'b_major="k", prob_tensor=None, acc_dtype=None, c_dtype=None, d_dtype=None, c_tensor=None, d_tensor=None, '
        'cd_major="n", mma_tiler_mn=(256, 256), cluster_shape_mn=None, vector_f32=False, m_aligned=256, generate_c=False, '
        'use_dynamic_sched=False, current_stream=None'),
    "GroupedGemmWgradSm100": (
        'sample_a, sample_b, sample_sfa, sample_sfb, sample_offsets, sample_wgrad=None, sample_wgrad_expert=None, '
        'num_experts=None, wgrad_shape=None, wgrad_dtype=None, sample_global_scale_a=None, sample_global_scale_b=None, '
        'acc_dtype=None, mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, sf_fp8_dtype_override=None, '
        'accumulate_on_output=False, input_order="tensor2d"'),
    "GroupedGemmWgradSm100.execute": (
        'a_tensor, b_tensor, sfa_tensor, sfb_tensor, offsets_tensor, wgrad_tensor=None, wgrad_ptrs=None, '
        'global_scale_a=None, global_scale_b=None, current_stream=None, *, descriptor_workspace=None'),
    "grouped_gemm_wgrad_wrapper_sm100": (
        'a_tensor, b_tensor, sfa_tensor, sfb_tensor, offsets_tensor, output_mode="dense", wgrad_tensor=None, '
        'wgrad_ptrs=None, global_scale_a=None, global_scale_b=None, acc_dtype=None, wgrad_dtype=None, mma_tiler_mn=(256, '
        '256), cluster_shape_mn=None, sf_vec_size=16, sf_fp8_dtype_override=None, accumulate_on_output=False, '
        'input_order="tensor2d", current_stream=None, *, descriptor_workspace=None'),
    "DiscreteGroupedGemmSwigluSm100": (
        'sample_a, num_experts, b_shape, b_dtype, sample_c, sample_d, sample_sfa, sample_padded_offsets, sample_alpha, '
        'sample_d_col, sample_bias=None, sample_sfd_row=None, sample_sfd_col=None, sample_amax=None, '
        'sample_norm_const=None, sample_prob=None, acc_dtype=None, mma_tiler_mn=(256, 256), cluster_shape_mn=None, '
        'sf_vec_size=16, vector_f32=False, m_aligned=256, discrete_col_sfd=False, act_func="swiglu", b_major="k", '
        'use_dynamic_sched=False'),
    "DiscreteGroupedGemmSwigluSm100.execute": (
        'a_tensor, b_ptrs, c_tensor, d_tensor, sfa_tensor, sfb_ptrs, padded_offsets, alpha_tensor, bias_tensor=None, '
        'd_col_tensor=None, sfd_row_tensor=None, sfd_col_tensor=None, amax_tensor=None, norm_const_tensor=None, '
        'prob_tensor=None, linear_offset=None, geglu_alpha=1.702, glu_clamp_max=7.0, glu_clamp_min=-7.0, '
        'current_stream=None'),
    "discrete_grouped_gemm_swiglu_wrapper_sm100": (
        'a_tensor, b_ptrs, sfa_tensor, sfb_ptrs, padded_offsets, alpha_tensor, n, b_dtype, bias_tensor=None, '
        'norm_const_tensor=None, prob_tensor=None, acc_dtype=None, c_dtype=None, d_dtype=None, cd_major="n", '
        'mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, '
        'discrete_col_sfd=False, act_func="swiglu", b_major="k", linear_offset=None, geglu_alpha=1.702, '
        'glu_clamp_max=7.0, glu_clamp_min=-7.0, use_dynamic_sched=False, current_stream=None'),
    "DiscreteGroupedGemmDswigluSm100": (
        'sample_a, num_experts, b_shape, b_dtype, sample_c, sample_d_row, sample_d_col, sample_sfa, '
        'sample_padded_offsets, sample_alpha, sample_beta, sample_prob, sample_dprob, sample_dbias=None, '
        'sample_sfd_row=None, sample_sfd_col=None, sample_amax=None, sample_norm_const=None, acc_dtype=None, '
        'mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, '
        'discrete_col_sfd=False, act_func="dswiglu", b_major="k", epilogue_op=None, use_dynamic_sched=False'),
    "DiscreteGroupedGemmDswigluSm100.execute": (
        'a_tensor, b_ptrs, c_tensor, d_row_tensor, d_col_tensor, sfa_tensor, sfb_ptrs, padded_offsets, alpha_tensor, '
        'beta_tensor, prob_tensor, dprob_tensor, dbias_tensor=None, sfd_row_tensor=None, sfd_col_tensor=None, '
        'amax_tensor=None, norm_const_tensor=None, linear_offset=None, geglu_alpha=1.702, glu_clamp_max=7.0, '
        'glu_clamp_min=-7.0, current_stream=None'),
    "discrete_grouped_gemm_dswiglu_wrapper_sm100": (
        'a_tensor, b_ptrs, c_tensor, sfa_tensor, sfb_ptrs, padded_offsets, alpha_tensor, beta_tensor, prob_tensor, '
        'dprob_tensor, n, b_dtype, generate_dbias=False, norm_const_tensor=None, acc_dtype=None, d_dtype=None, '
        'cd_major="n", mma_tiler_mn=(256, 256), cluster_shape_mn=None, sf_vec_size=16, vector_f32=False, m_aligned=256, '
        'discrete_col_sfd=False, act_func="dswiglu", b_major="k", epilogue_op=None, linear_offset=None, '
        'geglu_alpha=1.702, glu_clamp_max=7.0, glu_clamp_min=-7.0, use_dynamic_sched=False, current_stream=None'),
    "GemmAmaxSm100": (
        'sample_a, sample_b, sample_sfa, sample_sfb, sample_c, sample_amax, acc_dtype="float32", mma_tiler_mn=(128, 128), '
        'cluster_shape_mn=(1, 1), sf_vec_size=32'),
    "GemmAmaxSm100.execute": (
        'a_tensor, b_tensor, sfa_tensor, sfb_tensor, c_tensor, amax_tensor, current_stream=None'),
    "gemm_amax_wrapper_sm100": (
        'a_tensor, b_tensor, sfa_tensor, sfb_tensor, c_major="n", c_dtype="float32", acc_dtype="float32", '
        'mma_tiler_mn=(128, 128), cluster_shape_mn=(1, 1), sf_vec_size=32, stream=None'),
    "GemmSwigluSm100": (
        'sample_a, sample_b, sample_ab12, sample_c, alpha=1.0, acc_dtype="float32", mma_tiler_mn=(128, 128), '
        'cluster_shape_mn=None, sample_sfa=None, sample_sfb=None, sample_amax=None, sample_sfc=None, '
        'sample_norm_const=None, sf_vec_size=16, vector_f32=False, ab12_stages=4'),
    "GemmSwigluSm100.execute": (
        'a_tensor, b_tensor, ab12_tensor, c_tensor, sfa_tensor=None, sfb_tensor=None, amax_tensor=None, sfc_tensor=None, '
        'norm_const_tensor=None, alpha=1.0, current_stream=None'),
    "gemm_swiglu_wrapper_sm100": (
        'a_tensor, b_tensor, alpha=1.0, c_major="n", ab12_dtype="float32", c_dtype="float16", acc_dtype="float32", '
        'mma_tiler_mn=(128, 128), cluster_shape_mn=None, sfa_tensor=None, sfb_tensor=None, norm_const_tensor=None, '
        'sf_vec_size=16, vector_f32=False, ab12_stages=4, stream=None'),
    "GemmSreluSm100": (
        'sample_a, sample_b, sample_c, sample_d, sample_sfa, sample_sfb, sample_prob, sample_sfd=None, sample_amax=None, '
        'sample_norm_const=None, alpha=1.0, acc_dtype="float32", mma_tiler_mn=(256, 256), cluster_shape_mn=None, '
        'sf_vec_size=16, vector_f32=False'),
    "GemmSreluSm100.execute": (
        'a_tensor, b_tensor, c_tensor, d_tensor, sfa_tensor, sfb_tensor, prob_tensor, sfd_tensor=None, amax_tensor=None, '
        'norm_const_tensor=None, alpha=None, current_stream=None'),
    "gemm_srelu_wrapper_sm100": (
        'a_tensor, b_tensor, sfa_tensor, sfb_tensor, prob_tensor, alpha=1.0, c_major="n", c_dtype="bfloat16", '
        'd_dtype="bfloat16", acc_dtype="float32", mma_tiler_mn=(256, 256), cluster_shape_mn=None, norm_const_tensor=None, '
        'sf_vec_size=16, vector_f32=False, stream=None'),
    "GemmDsreluSm100": (
        'sample_a, sample_b, sample_c, sample_d, sample_dprob, sample_sfa, sample_sfb, sample_prob, sample_sfd=None, '
        'sample_amax=None, sample_norm_const=None, alpha=1.0, acc_dtype="float32", mma_tiler_mn=(256, 256), '
        'cluster_shape_mn=None, sf_vec_size=16, vector_f32=False'),
    "GemmDsreluSm100.execute": (
        'a_tensor, b_tensor, c_tensor, d_tensor, dprob_tensor, sfa_tensor, sfb_tensor, prob_tensor, sfd_tensor=None, '
        'amax_tensor=None, norm_const_tensor=None, alpha=None, current_stream=None'),
    "gemm_dsrelu_wrapper_sm100": (
        'a_tensor, b_tensor, c_tensor, sfa_tensor, sfb_tensor, prob_tensor, alpha=1.0, d_major="n", d_dtype="bfloat16", '
        'acc_dtype="float32", mma_tiler_mn=(256, 256), cluster_shape_mn=None, norm_const_tensor=None, sf_vec_size=16, '
        'vector_f32=False, stream=None'),
    "RmsNormRhtAmaxSm100": (
        'sample_x, sample_w, sample_o, sample_amax, eps=1e-05, num_threads=None, rows_per_cta=None'),
    "RmsNormRhtAmaxSm100.execute": (
        'x_tensor, w_tensor, o_tensor, amax_tensor, current_stream=None'),
    "rmsnorm_rht_amax_wrapper_sm100": (
        'x_tensor, w_tensor, eps=1e-05, num_threads=None, rows_per_cta=None, current_stream=None'),
    "moe_grouped_matmul": (
        'token, weight, first_token_offset, token_index=None, token_ks=None, mode="none", top_k=1'),
}


@functools.cache
def signature(name: str) -> inspect.Signature:
    """The signature of a callable of cuDNN, by its key in :data:`TEXTS`."""
    arguments = ast.parse(f"def f({TEXTS[name]}): pass").body[0].args  # type: ignore[attr-defined]
    positional, kind = [], inspect.Parameter
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    pairs = [(kind.POSITIONAL_OR_KEYWORD, *pair) for pair in zip(arguments.args, defaults)]
    pairs += [(kind.KEYWORD_ONLY, *pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    for place, argument, default in pairs:
        value = kind.empty if default is None else ast.literal_eval(default)
        positional.append(kind(argument.arg, place, default=value))
    return inspect.Signature(positional)
