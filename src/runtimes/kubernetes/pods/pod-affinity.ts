import { LOCAL_DATA_CENTER } from '../../../domain/catalog/catalog.ts';
import type { WorkloadSpec } from '../../runtime.ts';
import { CUDA_LABELS } from '../nodes/nodes.ts';
import type { PodPlace } from './pod-place.ts';

/** Selects nodes with the pool's GPUs in the data center. A workload without GPUs is still tied to its data center. */
export function affinityOf(spec: WorkloadSpec, { settings, gpuProducts, modelNodes = [] }: PodPlace): object {
  const { gpuLabel, dataCenterLabel } = settings;
  const isIn = (key: string, values: readonly string[]) => ({ key, operator: 'In', values });
  const gpu = spec.gpu && gpuProducts ? [isIn(gpuLabel, gpuProducts)] : [];
  const dataCenter = gpuProducts === null ? null : spec.dataCenterId;
  const terms =
    dataCenter === null
      ? [gpu]
      : dataCenter === LOCAL_DATA_CENTER
        ? [
            [...gpu, { key: dataCenterLabel, operator: 'DoesNotExist' }],
            [...gpu, isIn(dataCenterLabel, [dataCenter])],
          ]
        : [[...gpu, isIn(dataCenterLabel, [dataCenter])]];
  const drivers = spec.gpu?.cudaVersion && gpuProducts ? driversOf(spec.gpu.cudaVersion) : [[]];
  const nodeSelectorTerms = terms
    .flatMap((term) => drivers.map((driver) => [...term, ...driver]))
    .filter((expressions) => expressions.length > 0)
    .map((matchExpressions) => ({ matchExpressions }));
  const preferred = modelNodes.map((node) => ({
    weight: 50,
    preference: { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] },
  }));
  if (nodeSelectorTerms.length === 0 && preferred.length === 0) return {};
  return {
    affinity: {
      nodeAffinity: {
        ...(nodeSelectorTerms.length > 0 && {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
        }),
        ...(preferred.length > 0 && { preferredDuringSchedulingIgnoredDuringExecution: preferred }),
      },
    },
  };
}

/** Selects nodes whose driver supports exactly this CUDA version; one set of labels is enough. */
function driversOf(cudaVersion: string): object[][] {
  const [major = '', minor = '0'] = cudaVersion.split('.');
  return CUDA_LABELS.map((prefix) => [
    { key: `${prefix}.major`, operator: 'In', values: [major] },
    { key: `${prefix}.minor`, operator: 'In', values: [minor] },
  ]);
}
