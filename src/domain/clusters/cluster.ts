import type { ClusterId, UserId } from '../../core/ids.ts';
import type { Cloud, PodStatus } from '../pods/pod.ts';

/** The purpose of the pods. Kept and shown; all types start their image alike. */
export const CLUSTER_TYPES = ['APPLICATION', 'TRAINING', 'SLURM', 'RAY'] as const;
export type ClusterType = (typeof CLUSTER_TYPES)[number];

/** The wanted state; only operations set it. */
export type ClusterWanted = 'RUN' | 'DELETE';
/** The observed state of all pods together; only control sets it (docs/states.md, "Cluster"). */
export type ClusterPhase = 'WAITING' | 'STARTING' | 'RUNNING' | 'FAILED';

/** The compute of each pod. */
interface ClusterCompute {
  gpuTypeId: string;
  gpusPerPod: number;
  podCount: number;
}

/** Pods that are placed all or none, on a network of their own. */
export interface Cluster extends ClusterCompute {
  id: ClusterId;
  userId: UserId;
  name: string;
  type: ClusterType;
  cloud: Cloud;
  dataCenterIds: string[];
  templateId: string | null;
  createdAt: Date;
  phase: ClusterPhase;
  /** Why it waits or failed, in one sentence; null if there is nothing to report. */
  phaseReason: string | null;
  /** Where it was placed; null until then. */
  dataCenterId: string | null;
  /** Range of its network; null until known, and where the network has none of its own. */
  cidr: string | null;
}

/** A cluster with what its record shows of its pods. */
export interface ClusterWithPods extends Cluster {
  podsByStatus: Partial<Record<PodStatus, number>>;
  primary: { podId: string; status: PodStatus; sshEndpoint: string | null };
}
