import type { EndpointId } from '../../core/ids.ts';
import type { Access, Area, Permission } from './scopes.ts';

/** Access to an area, or to one of its records when the path holds an `id`. */
function permit(area: Area, access: Access): (params: { id?: string }) => Permission {
  return ({ id }) => ({ area, access, ...(id === undefined ? {} : { resourceId: id }) });
}

/** The permission that each operation needs, in REST and in GraphQL. */
export const PERMISSIONS = {
  readPod: permit('pods', 'read'),
  writePod: permit('pods', 'write'),
  readEndpoint: permit('serverless', 'read'),
  writeEndpoint: permit('serverless', 'write'),
  /** What status and stream need. */
  readJob: ({ id }: { id?: string }): Permission => ({ invoke: id as EndpointId, access: 'read' }),
  /** `id`: of a pod, or of an endpoint. */
  exec: ({ id }: { id?: string }): Permission => ({ exec: id! }),
  readBuild: permit('builds', 'read'),
  writeBuild: permit('builds', 'write'),
  readTemplate: permit('templates', 'read'),
  writeTemplate: permit('templates', 'write'),
  readVolume: permit('network-volumes', 'read'),
  writeVolume: permit('network-volumes', 'write'),
  readFiles: permit('files', 'read'),
  writeFiles: permit('files', 'write'),
  readRegistry: permit('registries', 'read'),
  writeRegistry: permit('registries', 'write'),
  // A delegation's id does not name a registry, so it restricts nothing.
  readDelegation: (): Permission => ({ area: 'registries', access: 'read' }),
  writeDelegation: (): Permission => ({ area: 'registries', access: 'write' }),
  readCatalog: (): Permission => ({ area: 'catalog', access: 'read' }),
  readBilling: (): Permission => ({ area: 'billing', access: 'read' }),
  writeBilling: (): Permission => ({ area: 'billing', access: 'write' }),
  readAccount: (): Permission => ({ area: 'account', access: 'read' }),
  writeAccount: (): Permission => ({ area: 'account', access: 'write' }),
  /** One's own keys, or as an admin those of others. */
  writeKeys: (): Permission => ({ area: 'account', access: 'write', orArea: 'users' }),
  // Of admins alone: see check-operator.ts.
  readUsers: (): Permission => ({ area: 'users', access: 'read' }),
  writeUsers: (): Permission => ({ area: 'users', access: 'write' }),
  readUserLimits: (): Permission => ({ area: 'users', access: 'read', orArea: 'account' }),
  writeUserLimits: (): Permission => ({ area: 'users', access: 'write', orArea: 'account' }),
};
