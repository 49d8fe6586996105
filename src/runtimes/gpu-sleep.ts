/** Lets workloads that sleep, and so hold no GPU memory, share GPUs with others. */
export interface GpuSleep {
  /** Makes the GPUs of a workload that sleeps free for others, until `claim` or the end of this process. Idempotent. */
  release(id: string): Promise<void>;
  /** Takes them back. Returns the workloads that hold one of them: it has got them when there is none. Idempotent. */
  claim(id: string): Promise<string[]>;
  /** Returns why `suspend` cannot work here, one sentence; null when it can. */
  checkpointHindrance(): Promise<string | null>;
  /** Returns how much of the memory of its GPUs is in use: what `suspend` would move. */
  gpuMemoryBytes(id: string): Promise<number>;
  /** Moves the GPU memory of a running workload to the machine's memory. When it rejects, the workload is as it was. */
  suspend(id: string): Promise<void>;
  /** Moves it back, to the GPUs that the workload was started with. */
  resume(id: string): Promise<void>;
}
