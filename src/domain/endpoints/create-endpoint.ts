import { Failure } from '../../core/errors.ts';
import { type EndpointId, newId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { CpuRequest } from '../catalog/cpu-config.ts';
import type { Operation, Tx } from '../change.ts';
import { checkReferences } from '../containers/check-references.ts';
import { mergeContainer } from '../containers/merge-container.ts';
import { insertLease } from '../leases/endpoint-lease.ts';
import { insertFirstRelease } from '../releases/release-store.ts';
import { checkRules } from './check-rules.ts';
import { cpuSelection } from './cpu-selection.ts';
import type { ContainerConfig, Endpoint, GpuConfig } from './endpoint.ts';
import { insertEndpointRow } from './endpoint-store.ts';
import { gpuRuleOf } from './gpu-rule.ts';
import { publishEndpoint } from './publish-endpoint.ts';
import { type OwnTemplate, saveOwnTemplate, type TemplateSettings, templateContainer } from './template-container.ts';

/** The container's fields are optional: the template's, then the defaults, fill them in. */
export type NewEndpoint = Omit<
  Endpoint,
  'id' | 'userId' | 'cpu' | 'modelReferences' | 'models' | 'version' | 'createdAt' | keyof ContainerConfig
> &
  Partial<ContainerConfig & Pick<Endpoint, 'modelReferences' | 'models'>> & {
    /** Instead of `gpu`, in order of preference. */
    cpu?: readonly CpuRequest[] | null;
    /** An inline template, instead of `templateId`: it belongs to the endpoint and is deleted with it. */
    ownTemplate?: OwnTemplate;
    /** Deletes it after so long, unless its lease is renewed. Absent: it stays. */
    leaseSeconds?: number;
  };

/** Returns the hardware. Throws `badRequest` unless exactly one of `gpu` and `cpu` is given. */
function checkHardware({ gpu, cpu = null }: NewEndpoint): Pick<Endpoint, 'gpu' | 'cpu'> {
  if ((gpu === null) === (cpu === null)) throw new Failure('badRequest', 'gpu, cpu: exactly one of them is required');
  if (gpu === null) return { gpu, cpu: cpuSelection(cpu!) };
  const { pools, count, ...rule } = gpu;
  return { gpu: { pools: [...new Set(pools)], count, ...gpuRuleOf(rule) }, cpu: null };
}

/** Stores the endpoint with its first release and notifies the scaler. Throws `badRequest` if a rule is broken, `forbidden` for a reference the key may not add or one endpoint too many. */
export const createEndpoint: Operation<Tx, NewEndpoint, Endpoint> = {
  name: 'endpoint.create',
  permission: () => PERMISSIONS.writeEndpoint({}),
  adds: () => ({ record: 'endpoints', count: 1 }),
  async run({ db, actor, bus }, input) {
    const { ownTemplate, leaseSeconds, ...own } = {
      ...input,
      ...checkHardware(input),
      dataCenterIds: [...new Set(input.dataCenterIds)],
    };
    const id = newId<EndpointId>();
    const template = await readTemplate(db, actor, id, input);
    const gpu = own.gpu && withTemplateRule(own.gpu, template?.allowedCudaVersions ?? []);
    const wanted = { modelReferences: [], models: [], ...own, gpu, ...mergeContainer(template, own) };
    checkRules(wanted);
    await checkReferences(db, actor, null, wanted);
    const created = await insertEndpointRow(db, {
      ...wanted,
      templateId: template?.templateId ?? null,
      id,
      userId: actor.userId,
      version: 1,
    });
    if (leaseSeconds !== undefined) await insertLease(db, created.id, leaseSeconds);
    await insertFirstRelease(db, { endpoint: created, createdBy: actor.userId, diff: [], image: null });
    publishEndpoint(bus, created.id);
    return created;
  },
  subject: (_, { id }) => id,
};

/** The template's CUDA versions count unless the request has a rule of its own. */
function withTemplateRule(gpu: GpuConfig, allowedCudaVersions: string[]): GpuConfig {
  const hasOwn = gpu.allowedCudaVersions !== undefined || gpu.minCudaVersion !== undefined;
  return hasOwn || allowedCudaVersions.length === 0 ? gpu : { ...gpu, allowedCudaVersions };
}

async function readTemplate(
  db: Db,
  actor: Actor,
  id: EndpointId,
  { name, templateId, ownTemplate }: NewEndpoint,
): Promise<(TemplateSettings & { templateId: string }) | null> {
  if (ownTemplate) return saveOwnTemplate(db, actor, { id, name }, null, ownTemplate);
  return templateId === null ? null : { ...(await templateContainer(db, actor, templateId)), templateId };
}
