/**
 * Added to the score by which the kernel chooses what to kill when the machine runs out of memory: workloads go before
 * everything else (oom_score_adj in proc(5), from -1000 to 1000).
 */
export const WORKLOAD_OOM_SCORE = 500;
