import type { EndpointId } from '../../core/ids.ts';
import type { Access, Area, Permission } from './scopes.ts';
import type { TeamRole } from './team-roles.ts';

/** Access to an area, or to one of its records when the path holds an `id`. `member`: what a team's member must be. */
function permit(area: Area, access: Access, member?: TeamRole): (params: { id?: string }) => Permission {
  return ({ id }) => ({ area, access, ...(id === undefined ? {} : { resourceId: id }), ...(member && { member }) });
}

/** The permission that each operation needs, in REST and in GraphQL. roles.ts says which roles have it. */
export const PERMISSIONS = {
  readPod: permit('pods', 'read'),
  writePod: permit('pods', 'write'),
  deletePod: permit('pods', 'write', 'OPERATOR'),
  /** Jupyter runs programs in the pod. */
  readPodPassword: permit('pods', 'write', 'OPERATOR'),
  readEndpoint: permit('serverless', 'read'),
  writeEndpoint: permit('serverless', 'write'),
  deleteEndpoint: permit('serverless', 'write', 'OPERATOR'),
  rollBackRelease: permit('serverless', 'write', 'OPERATOR'),
  /** The permission for status and stream. */
  readJob: ({ id }: { id?: string }): Permission => ({ invoke: id as EndpointId, access: 'read' }),
  /** `id`: of a pod, or of an endpoint. */
  exec: ({ id }: { id?: string }): Permission => ({ exec: id! }),
  readBuild: permit('builds', 'read'),
  writeBuild: permit('builds', 'write'),
  readTemplate: permit('templates', 'read'),
  writeTemplate: permit('templates', 'write'),
  deleteTemplate: permit('templates', 'write', 'OPERATOR'),
  readVolume: permit('network-volumes', 'read'),
  writeVolume: permit('network-volumes', 'write'),
  deleteVolume: permit('network-volumes', 'write', 'OPERATOR'),
  readFiles: permit('files', 'read'),
  writeFiles: permit('files', 'write'),
  readRegistry: permit('registries', 'read'),
  writeRegistry: permit('registries', 'write'),
  deleteRegistry: permit('registries', 'write', 'OPERATOR'),
  // A delegation's id does not name a registry, so it restricts nothing.
  readDelegation: (): Permission => ({ area: 'registries', access: 'read' }),
  writeDelegation: (): Permission => ({ area: 'registries', access: 'write' }),
  deleteDelegation: (): Permission => ({ area: 'registries', access: 'write', member: 'OPERATOR' }),
  readCatalog: (): Permission => ({ area: 'catalog', access: 'read' }),
  readBilling: (): Permission => ({ area: 'billing', access: 'read' }),
  writeBilling: (): Permission => ({ area: 'billing', access: 'write' }),
  readAccount: (): Permission => ({ area: 'account', access: 'read' }),
  writeAccount: (): Permission => ({ area: 'account', access: 'write' }),
  readSecret: (): Permission => ({ area: 'account', access: 'read', isSecret: true }),
  writeSecret: (): Permission => ({ area: 'account', access: 'write', member: 'DEVELOPER' }),
  deleteSecret: (): Permission => ({ area: 'account', access: 'write', member: 'OPERATOR' }),
  endTerminal: (): Permission => ({ area: 'account', access: 'write', member: 'OPERATOR' }),
  /** Teams themselves: the path names one, and the caller's membership decides. */
  readTeam: (): Permission => ({ area: 'account', access: 'read' }),
  writeTeam: (): Permission => ({ area: 'account', access: 'write' }),
  /** One's own keys, or as an admin those of others. */
  writeKeys: (): Permission => ({ area: 'account', access: 'write', orArea: 'users' }),
  /** Entries of one's own records; as an admin, of all. */
  readAudit: (): Permission => ({ area: 'account', access: 'read', orArea: 'users' }),
  // For admins alone: see check-operator.ts.
  readUsers: (): Permission => ({ area: 'users', access: 'read' }),
  writeUsers: (): Permission => ({ area: 'users', access: 'write' }),
  readUserLimits: (): Permission => ({ area: 'users', access: 'read', orArea: 'account' }),
  writeUserLimits: (): Permission => ({ area: 'users', access: 'write', orArea: 'account' }),
};
