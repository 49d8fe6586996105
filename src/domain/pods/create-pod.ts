import { newId, type PodId, type TemplateId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { CapacitySource, Stock } from '../catalog/capacity-source.ts';
import { withMemory } from '../catalog/cpu-config.ts';
import type { Operation, Tx } from '../change.ts';
import { mergeContainer } from '../containers/merge-container.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';
import type { Template } from '../templates/template.ts';
import { TemplateRefused } from '../templates/template-refused.ts';
import { findUsableTemplate } from '../templates/template-store.ts';
import { checkHardware, checkMounts, checkNetworkMount, checkPodContainer } from './check-pod.ts';
import { placePod } from './place-pod.ts';
import type { Pod, PodGpu, PodMounts } from './pod.ts';
import { insertPodRow } from './pod-store.ts';

/** The transaction of operations that place a pod. */
export interface PlacingTx extends Tx {
  capacity: CapacitySource;
}

/** The container's fields and the mounts are optional: the template's, then the defaults, fill them in. */
export interface NewPod
  extends Partial<ContainerConfig>,
    Pick<Pod, 'name' | 'gpu' | 'cloud' | 'dataCenterIds' | 'hasGlobalNetwork' | 'isPrivate' | 'templateId'> {
  /** Exactly one of `gpu` and `cpu` is required; the memory follows from the flavor. */
  cpu: { id: string; vcpuCount: number } | null;
  mounts?: PodMounts;
  /** Absent: what the template says; if it says nothing, `sshByDefault`, and no Jupyter. */
  startSsh?: boolean;
  startJupyter?: boolean;
  /** Absent: true. */
  sshByDefault?: boolean;
  /** Absent: null. */
  stopAt?: Date | null;
  terminateAt?: Date | null;
}

/**
 * Places and stores a pod, and notifies control to start it. Throws `badRequest` if a rule is broken or there is no
 * capacity, `forbidden` for a reference the key may not add, `forbidden` or `tooManyRequests` over a limit of the user, and
 * `unavailable` if the runtime does not answer.
 */
export const createPod: Operation<PlacingTx, NewPod, Pod, Stock> = {
  name: 'pod.create',
  permission: () => PERMISSIONS.writePod({}),
  adds: () => ({ record: 'pods', count: 1 }),
  prepare({ capacity }, input) {
    checkHardware(input);
    return capacity.read();
  },
  async run({ db, actor, bus }, input, stock) {
    const cpu = input.cpu && withMemory(input.cpu);
    const template = input.templateId === null ? null : await usePodTemplate(db, actor, input.templateId);
    const container = mergeContainer(template, input);
    await checkPodContainer(db, actor, null, container);
    const mounts = input.mounts ?? templateMounts(template, cpu !== null);
    checkMounts(mounts, cpu !== null);
    const { network } = mounts;
    const dataCenterIds = network
      ? [await checkNetworkMount(db, actor, network.volumeId, input.dataCenterIds)]
      : [...new Set(input.dataCenterIds)];
    const gpu = withTemplateRule(input.gpu, template);
    const wanted = { ...input, userId: actor.userId, gpu, cpu, dataCenterIds };
    const { place, evicted } = await placePod(db, wanted, stock);
    const created = await insertPodRow(db, {
      ...input,
      gpu,
      startSsh: input.startSsh ?? template?.startSsh ?? input.sshByDefault ?? true,
      startJupyter: input.startJupyter ?? template?.startJupyter ?? false,
      ...container,
      ...place,
      cpu,
      mounts,
      isLocked: false,
      id: newId<PodId>(),
      userId: actor.userId,
    });
    for (const id of evicted) bus.publish('worker', id);
    bus.publish('pod', created.id);
    return created;
  },
  subject: (_, { id }) => id,
};

/** Finds the user's own template or a public one, whose registry is copied only for its owner. Throws `badRequest`. */
export async function usePodTemplate(db: Db, actor: Actor, templateId: string): Promise<Template> {
  const template = await findUsableTemplate(db, actor.userId, templateId as TemplateId);
  if (!template) throw new TemplateRefused('unknown', `templateId: there is no template '${templateId}'`);
  if (template.isServerless) {
    throw new TemplateRefused(
      'otherPurpose',
      `templateId: template '${templateId}' is a serverless template, not one for pods`,
    );
  }
  return { ...template, registryId: template.userId === actor.userId ? template.registryId : null };
}

/** The template's CUDA versions count unless the request requires any of the driver. */
export function withTemplateRule<G extends PodGpu | null>(gpu: G, template: Template | null): G {
  const allowed = template?.allowedCudaVersions ?? [];
  if (gpu === null || allowed.length === 0 || gpu.minCudaVersion || gpu.allowedCudaVersions) return gpu;
  return { ...gpu, allowedCudaVersions: allowed };
}

/** A CPU pod has no persistent storage, whatever its template says. */
export function templateMounts(template: Template | null, isCpuPod: boolean): PodMounts {
  return { persistent: isCpuPod ? null : (template?.persistentMount ?? null), network: null };
}
