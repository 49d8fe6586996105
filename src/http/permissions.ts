import type { Permission } from '../domain/access/actor.ts';
import type { Access, Area } from '../domain/access/scopes.ts';

/** Access to an area, or to one of its records when the path holds an `id`. */
function permit(area: Area, access: Access): (params: Record<string, string>) => Permission {
  return ({ id }) => ({ area, access, ...(id === undefined ? {} : { resourceId: id }) });
}

/** The permission that each operation needs, in REST and in GraphQL. */
export const PERMISSIONS = {
  readPod: permit('pods', 'read'),
  writePod: permit('pods', 'write'),
  readEndpoint: permit('serverless', 'read'),
  writeEndpoint: permit('serverless', 'write'),
  readTemplate: permit('templates', 'read'),
  writeTemplate: permit('templates', 'write'),
  readVolume: permit('network-volumes', 'read'),
  writeVolume: permit('network-volumes', 'write'),
  readRegistry: permit('registries', 'read'),
  writeRegistry: permit('registries', 'write'),
  // A delegation's id does not name a registry, so it restricts nothing.
  readDelegation: (): Permission => ({ area: 'registries', access: 'read' }),
  writeDelegation: (): Permission => ({ area: 'registries', access: 'write' }),
  readCatalog: (): Permission => ({ area: 'catalog', access: 'read' }),
  readBilling: (): Permission => ({ area: 'billing', access: 'read' }),
  readAccount: (): Permission => ({ area: 'account', access: 'read' }),
  writeAccount: (): Permission => ({ area: 'account', access: 'write' }),
};
