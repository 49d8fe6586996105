import type { KubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { Failure } from '../../../core/errors.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import type { StorageOwner, StorageRequest, WorkloadStorage } from '../../runtime.ts';
import { ApiError, type ApiServer, MERGE_PATCH } from '../api/api-server.ts';
import { type ApiObject, amountOf, type Quantities } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { FilePods } from './file-pods.ts';
import { LABELS } from './pod-record.ts';

interface Claim extends ApiObject {
  spec: { resources?: { requests?: Quantities } };
}

export interface ClaimStorageOptions {
  api: ApiServer;
  settings: KubernetesSettings;
  installation: string;
  usedBytes: (claim: string) => Promise<number | null>;
  view: () => Promise<ClusterView>;
  areGpusSimulated: boolean;
}

/**
 * Storage as persistent volume claims. A network volume is a claim that pods on several nodes can mount; a pod's own storage
 * needs one node at a time. The storage class decides how volumes are provisioned, and what happens to the data after a
 * claim is deleted.
 */
export class ClaimStorage implements WorkloadStorage {
  readonly fileServers: FilePods;
  readonly #options: ClaimStorageOptions;

  constructor(options: ClaimStorageOptions) {
    this.#options = options;
    this.fileServers = new FilePods({
      ...options,
      isSimulated: options.areGpusSimulated,
      ensure: (owner, request) => this.ensure(owner, request),
    });
  }

  async ensure(owner: StorageOwner, request: StorageRequest): Promise<string> {
    const { api } = this.#options;
    const name = claimName(owner);
    const claims = await this.#path();
    const claim = await orAbsent(api.json<Claim>({ method: 'GET', path: `${claims}/${name}` }));
    if (!claim) await this.#create(claims, owner, request);
    else if (claim.metadata.deletionTimestamp) {
      throw new Failure('unavailable', `The storage '${name}' is being removed`);
    } else if (amountOf(claim.spec.resources?.requests?.storage) < request.sizeGb * 2 ** 30) {
      await this.#grow(`${claims}/${name}`, name, request);
    }
    return name;
  }

  async remove(owner: StorageOwner): Promise<void> {
    const { api } = this.#options;
    if (owner.kind === 'volume') await this.fileServers.remove(owner.id); // a claim in use stays
    await orAbsent(api.json({ method: 'DELETE', path: `${await this.#path()}/${claimName(owner)}` }));
  }

  usedBytes(owner: StorageOwner): Promise<number | null> {
    return this.#options.usedBytes(claimName(owner));
  }

  async #create(claims: string, owner: StorageOwner, request: StorageRequest): Promise<void> {
    const { api, settings, installation } = this.#options;
    const storageClass = settings.storageClasses[request.type];
    const body = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: claimName(owner),
        labels: {
          [LABELS.installation]: installation,
          [LABELS.id]: owner.id,
          [LABELS.kind]: owner.kind,
          'app.kubernetes.io/managed-by': 'podyard',
        },
      },
      spec: {
        accessModes: [owner.kind === 'pod' ? 'ReadWriteOnce' : settings.accessMode],
        ...(storageClass !== undefined && { storageClassName: storageClass }),
        resources: { requests: { storage: `${request.sizeGb}Gi` } },
      },
    };
    try {
      await api.json({ method: 'POST', path: claims, body });
    } catch (error) {
      if (isRefusal(error, 409)) return; // created concurrently
      throw refused(error, `The storage '${claimName(owner)}' could not be created`);
    }
  }

  /** Returns the path of claims in our namespace. */
  async #path(): Promise<string> {
    return (await this.#options.view()).path('persistentvolumeclaims');
  }

  async #grow(path: string, name: string, { sizeGb }: StorageRequest): Promise<void> {
    const body = { spec: { resources: { requests: { storage: `${sizeGb}Gi` } } } };
    try {
      await this.#options.api.json({ method: 'PATCH', path, body, contentType: MERGE_PATCH });
    } catch (error) {
      throw refused(error, `The storage '${name}' could not be enlarged`);
    }
  }
}

function claimName(owner: StorageOwner): string {
  return `podyard-${owner.kind}-${owner.id}`.toLowerCase();
}

function refused(error: unknown, what: string): unknown {
  if (!(error instanceof ApiError)) return error;
  return new Failure('unavailable', `${what}: ${error.message}`, { cause: error });
}
