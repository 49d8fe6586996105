import { Failure } from '../../core/errors.ts';
import { findDataCenter, gpuPools } from '../catalog/catalog.ts';
import { noSuchItem } from '../catalog/no-such-item.ts';
import { checkContainer } from '../containers/check-container.ts';
import { checkRepeatedPort } from '../containers/check-ports.ts';
import type { Endpoint } from './endpoint.ts';
import { checkGpuRule } from './gpu-rule.ts';

/** The fields of an endpoint that have rules beyond the schema. */
export type Checked = Partial<
  Pick<Endpoint, 'image' | 'env' | 'workers' | 'gpu' | 'ports' | 'dataCenterIds' | 'networkVolumeIds'>
>;

/**
 * Checks the rules that a schema cannot express; throws `badRequest` with the field. Only the given fields are checked: an
 * update does not judge the others again.
 */
export function checkRules(given: Checked): void {
  checkContainer(given);
  const problem =
    workersProblem(given) ??
    unknownItem('gpu.pools', 'GPU pool', given.gpu?.pools, (pool) => gpuPools().includes(pool)) ??
    unknownItem('dataCenterIds', 'data center', given.dataCenterIds, (id) => findDataCenter(id) !== undefined) ??
    repeatedVolume(given.networkVolumeIds);
  if (problem !== undefined) throw new Failure('badRequest', problem);
  if (given.gpu) checkGpuRule(given.gpu);
  if (given.ports) checkRepeatedPort(given.ports);
}

function workersProblem({ workers }: Checked): string | undefined {
  if (workers === undefined || workers.min <= workers.max) return undefined;
  return `workers.min (${workers.min}) must not be greater than workers.max (${workers.max})`;
}

function unknownItem(
  field: string,
  thing: 'GPU pool' | 'data center',
  items: readonly string[] | undefined,
  isKnown: (item: string) => boolean,
): string | undefined {
  const unknown = items?.find((item) => !isKnown(item));
  return unknown === undefined ? undefined : `${field}: ${noSuchItem(thing, unknown)}`;
}

function repeatedVolume(ids: readonly string[] | undefined): string | undefined {
  const repeated = ids?.find((id, i) => ids.indexOf(id) !== i);
  return repeated === undefined ? undefined : `networkVolumes: '${repeated}' is listed more than once`;
}
