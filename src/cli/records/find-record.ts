import { didYouMean } from '../../core/text/closest.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import { type Findable, type Named, RECORDS } from './kinds.ts';

/** Matches an id (core/ids.ts). A name may look the same. */
export const ID = /^[a-z][a-z0-9]{13}$/;

/**
 * Finds a record by id, or else by a unique name. Throws the server's `404` if there is none, with the name that was
 * probably meant; and if there are several, an error with their ids. By id, a key for that one record is enough.
 */
export async function findRecord<T extends Named>(client: ApiClient, kind: Findable<T>, idOrName: string): Promise<T> {
  const byId = ID.test(idOrName) ? await getById(client, kind, idOrName) : undefined;
  if (byId && !(byId instanceof ApiRefusal)) return byId;
  const records = await kind.list(client);
  const named = records.filter(({ id, name }) => name === idOrName || id === idOrName);
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(', ');
    const what = kind.all.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    throw new Error(`${named.length} ${what} are named '${idOrName}': use an id, one of ${ids}`);
  }
  const found = named[0] ?? byId ?? (await getById(client, kind, idOrName));
  if (!(found instanceof ApiRefusal)) return found;
  const names = records.map(({ name }) => name);
  throw new ApiRefusal(404, `${found.message}: '${idOrName}'${didYouMean(idOrName, names)}`);
}

/** Resolves with the server's refusal if there is none with this id, or the key may not read it. */
async function getById<T extends Named>(client: ApiClient, kind: Findable<T>, id: string): Promise<T | ApiRefusal> {
  return kind.get(client, id).catch((error: unknown) => {
    if (error instanceof ApiRefusal && error.status === 404) return error;
    throw error;
  });
}

/** Returns the id of what is named; the text itself, for the server to judge, if the key may not list such records. */
export async function idOf(client: ApiClient, kind: Findable<Named>, idOrName: string): Promise<string> {
  try {
    return (await findRecord(client, kind, idOrName)).id;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return idOrName;
    throw error;
  }
}

/** The members of bodies that refer to other records. */
interface References {
  templateId?: string;
  registry?: string | null;
  networkVolumes?: string[];
  /** By host. */
  registries?: Record<string, string>;
  mounts?: { network?: { volumeId: string; path: string }[] };
}

/** Replaces names of other records in a body by their ids. */
export async function resolveNames<Body extends object>(client: ApiClient, body: Body): Promise<Body> {
  const { templateId, registry, networkVolumes, registries, mounts } = body as References;
  const resolved: References = {};
  if (templateId) resolved.templateId = await idOf(client, RECORDS.templates, templateId);
  if (registry) resolved.registry = await idOf(client, RECORDS.registries, registry);
  if (registries) {
    resolved.registries = {};
    for (const [host, one] of Object.entries(registries)) {
      resolved.registries[host] = await idOf(client, RECORDS.registries, one);
    }
  }
  const volume = (one: string) => idOf(client, RECORDS.volumes, one);
  if (networkVolumes) resolved.networkVolumes = await Promise.all(networkVolumes.map(volume));
  if (mounts?.network) {
    const network = mounts.network.map(async (mount) => ({ ...mount, volumeId: await volume(mount.volumeId) }));
    resolved.mounts = { ...mounts, network: await Promise.all(network) };
  }
  return { ...body, ...resolved };
}
