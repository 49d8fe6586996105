import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { SeenChange } from '../audit/witness.ts';
import { isBuildImage } from '../builds/build-image.ts';
import type { CpuRequest } from '../catalog/cpu-config.ts';
import type { Operation, Tx } from '../change.ts';
import { checkAddedReferences, checkReferences } from '../containers/check-references.ts';
import { RELEASED } from '../releases/diff-releases.ts';
import { askForImage } from '../releases/release-images.ts';
import { updateTemplateUse } from '../templates/template-store.ts';
import { type Checked, checkRules } from './check-rules.ts';
import { cpuSelection } from './cpu-selection.ts';
import type { ContainerConfig, Endpoint } from './endpoint.ts';
import {
  type EndpointVersion,
  getEndpointRow,
  getEndpointVersion,
  recallVersion,
  rememberVersion,
} from './endpoint-store.ts';
import { type GpuChange, mergeGpu } from './gpu-rule.ts';
import { publishEndpoint } from './publish-endpoint.ts';
import { leaveTemplate, saveOwnTemplate, type TemplateSource, templateContainer } from './template-container.ts';
import { endpointWrite, writeEndpoint } from './write-endpoint.ts';

type Fixed = 'id' | 'userId' | 'type' | 'templateId' | 'version' | 'createdAt';
type Merged = 'gpu' | 'workers' | 'scaling';

/** A partial update. Absent fields stay; `gpu`, `workers` and `scaling` are merged by member, everything else is replaced. */
export interface EndpointChange extends Partial<Omit<Endpoint, Fixed | Merged | 'cpu'>> {
  /** Only for a GPU endpoint (gpu-rule.ts). */
  gpu?: GpuChange;
  /** Only for a CPU endpoint; in order of preference. */
  cpu?: readonly CpuRequest[];
  workers?: Partial<Endpoint['workers']>;
  scaling?: Partial<Endpoint['scaling']>;
  /** A template to copy the container settings from, before the given ones apply. */
  template?: TemplateSource;
  /** Adds `env` to the template's, name by name, instead of replacing it. */
  isEnvMerged?: true;
}

/** A change, or a function that returns it for the endpoint as it is: for an interface whose rules depend on that. */
export type EndpointUpdate = EndpointChange | ((before: Endpoint) => EndpointChange);

/**
 * Applies a partial update. A change of the release spec creates version n + 1 in the same transaction; unchanged values create none, but
 * an image that is named again is resolved again, by control. Throws `notFound`, `badRequest` if a rule is broken, and `forbidden` for a
 * reference the key may not add.
 */
export const updateEndpoint: Operation<Tx, { id: EndpointId; update: EndpointUpdate }, Endpoint> = {
  name: 'endpoint.update',
  permission: PERMISSIONS.writeEndpoint,
  // A write if the row is still as it was seen, and a read before it unless it was just seen. With references it has to lock what they name.
  async runAtOnce(tx, { id, update }) {
    const { db, actor, bus } = tx;
    publishEndpoint(bus, id);
    const known = recallVersion(db, actor.userId, id);
    const foreseen = known && foresee(actor, known.endpoint, update);
    if (foreseen === null) return undefined;
    const written = foreseen && (await writeAtOnce(tx, known!, foreseen));
    if (written) return written;
    const version = await getEndpointVersion(db, actor.userId, id);
    const after = changeAtOnce(actor, version.endpoint, update);
    if (after === null || after === version.endpoint) return after ?? undefined;
    return writeAtOnce(tx, version, after);
  },
  async run({ db, actor, bus, saw }, { id, update }) {
    publishEndpoint(bus, id);
    const { before, after } = await changeAndCompare(db, actor, id, update);
    saw(seenChange(before, after));
    return after;
  },
  subject: ({ id }) => id,
  seesItsChange: true,
};

/** Returns the endpoint with the update; null if that needs a transaction. Throws `badRequest` if a rule is broken, `forbidden` as `checkReferences`. */
function changeAtOnce(actor: Actor, before: Endpoint, update: EndpointUpdate): Endpoint | null {
  const { template, isEnvMerged: _, ...change } = typeof update === 'function' ? update(before) : update;
  if (template) return null;
  if (Object.keys(change).length === 0) return before;
  const after = mergeChange(before, change);
  if (!RELEASED.some((member) => member in change)) return after;
  if (readsOthers(before, change)) return null;
  checkAddedReferences(actor, before, change);
  return after;
}

/** True if a release names records that have to be there when it is stored, or an image to resolve again. */
function readsOthers(before: Endpoint, { image, registryId, networkVolumeIds = [] }: EndpointChange): boolean {
  return (
    image === before.image || isBuildImage(image ?? before.image) || Boolean(registryId) || networkVolumeIds.length > 0
  );
}

/** As `changeAtOnce`, for an endpoint that may have changed since: undefined if that depends on the current row, as for a broken rule. */
function foresee(actor: Actor, known: Endpoint, update: EndpointUpdate): Endpoint | null | undefined {
  try {
    const after = changeAtOnce(actor, known, update);
    return after === known ? undefined : after;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Stores an endpoint if its row still has the version that was seen; else returns undefined. */
async function writeAtOnce(
  { db, actor, audited }: Tx,
  { endpoint: before, rowVersion }: EndpointVersion,
  after: Endpoint,
): Promise<Endpoint | undefined> {
  const { endpoint, statement } = endpointWrite(actor, before, after, rowVersion);
  const { rows } = await db.query<{ version: string }>(audited(statement, seenChange(before, endpoint)));
  if (!rows[0]) return undefined;
  rememberVersion(db, { endpoint, rowVersion: rows[0].version });
  return endpoint;
}

/** `updateEndpoint` as a part of another change, without the hint to the scaler. */
export async function changeEndpoint(db: Db, actor: Actor, id: EndpointId, update: EndpointUpdate): Promise<Endpoint> {
  return (await changeAndCompare(db, actor, id, update)).after;
}

async function changeAndCompare(
  db: Db,
  actor: Actor,
  id: EndpointId,
  update: EndpointUpdate,
): Promise<{ before: Endpoint; after: Endpoint }> {
  const before = await getEndpointRow(db, actor.userId, id, 'for update');
  const { template, isEnvMerged, ...given } = typeof update === 'function' ? update(before) : update;
  const copied = template && (await copyTemplate(db, actor, before, template));
  const env = isEnvMerged && copied && given.env ? { env: { ...copied.env, ...given.env } } : {};
  const change = { ...copied, ...given, ...env };
  if (Object.keys(change).length === 0) return { before, after: before };
  const after = mergeChange(before, change);
  await checkReferences(db, actor, before, change);
  const written = await writeEndpoint(db, actor, before, after);
  const isImageNamedAgain = given.image === before.image;
  if (isImageNamedAgain) await askForImage(db, { endpointId: id, version: written.version });
  return { before, after: written };
}

function seenChange(before: Endpoint, after: Endpoint): SeenChange {
  return { recordId: after.id, recordName: after.name, before, after };
}

/** Returns the endpoint with a change. Throws `badRequest` if the change or the endpoint that it leads to breaks a rule. */
export function mergeChange(before: Endpoint, change: EndpointChange): Endpoint {
  checkFamily(before, change);
  const after = merged(before, change);
  after.dataCenterIds = [...new Set(after.dataCenterIds)];
  if (change.gpu && after.gpu) after.gpu = { ...after.gpu, pools: [...new Set(after.gpu.pools)] };
  checkChange(after, change);
  return after;
}

async function copyTemplate(
  db: Db,
  actor: Actor,
  before: Endpoint,
  source: TemplateSource,
): Promise<ContainerConfig & { templateId: string }> {
  if ('ownTemplate' in source) {
    const { allowedCudaVersions: _, ...copy } = await saveOwnTemplate(
      db,
      actor,
      before,
      before.templateId,
      source.ownTemplate,
    );
    if (before.templateId !== null && before.templateId !== copy.templateId)
      await updateTemplateUse(db, before.templateId);
    return copy;
  }
  const { allowedCudaVersions: _, ...container } = await templateContainer(db, actor, source.templateId);
  if (before.templateId !== null && before.templateId !== source.templateId) {
    await leaveTemplate(db, actor, before.id, before.templateId);
  }
  return { ...container, templateId: source.templateId };
}

/** Throws `badRequest` for a change that would make a GPU endpoint of a CPU endpoint, or the other way round. */
function checkFamily(before: Endpoint, { gpu, cpu }: EndpointChange): void {
  if (gpu && cpu) throw new Failure('badRequest', 'gpu, cpu: at most one of them can be changed');
  if (gpu && before.gpu === null) throw new Failure('badRequest', 'gpu: this is a CPU endpoint, and stays one');
  if (cpu && before.cpu === null) throw new Failure('badRequest', 'cpu: this is a GPU endpoint, and stays one');
}

function merged(before: Endpoint, change: EndpointChange): Endpoint {
  return {
    ...before,
    ...change,
    gpu: change.gpu ? mergeGpu(before.gpu!, change.gpu) : before.gpu,
    cpu: change.cpu ? cpuSelection(change.cpu) : before.cpu,
    workers: { ...before.workers, ...change.workers },
    scaling: { ...before.scaling, ...change.scaling },
  };
}

function checkChange(after: Endpoint, change: EndpointChange): void {
  const { gpu, workers, cpu: _, scaling: __, ...whole } = change;
  const merged: Checked = { ...(gpu && { gpu: after.gpu }), ...(workers && { workers: after.workers }) };
  checkRules({ ...whole, ...merged });
}
