import type { Permission } from '../domain/access/actor.ts';
import type { Access, Area } from '../domain/access/scopes.ts';

/** Access to an area, or to one record of it when its `id` is in the path. */
function permit(area: Area, access: Access): (params: Record<string, string>) => Permission {
  return ({ id }) => ({ area, access, ...(id === undefined ? {} : { resourceId: id }) });
}

/** What operations name, in REST and in GraphQL; an `id` restricts to one record. */
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
  // The id of a delegation is none of a registry.
  readDelegation: (): Permission => ({ area: 'registries', access: 'read' }),
  writeDelegation: (): Permission => ({ area: 'registries', access: 'write' }),
  readCatalog: (): Permission => ({ area: 'catalog', access: 'read' }),
  readBilling: (): Permission => ({ area: 'billing', access: 'read' }),
  readAccount: (): Permission => ({ area: 'account', access: 'read' }),
  writeAccount: (): Permission => ({ area: 'account', access: 'write' }),
};
