import type { Static } from 'typebox';
import { type Delegation, type EcrRepository, parseEcrArn, registryHost } from '../../domain/registries/delegation.ts';
import type { Registry } from '../../domain/registries/registry-store.ts';
import type { CreateDelegationRequest, DelegationResponse, RegistryResponse } from './registry-schemas.ts';

export function toRegistryResponse({ id, name }: Registry): Static<typeof RegistryResponse> {
  return { id, name };
}

export function toNewDelegation(body: Static<typeof CreateDelegationRequest>): EcrRepository & { name: string | null } {
  return { ...parseEcrArn(body.resource)!, name: body.name ?? null }; // the schema validates with the same pattern
}

export function toDelegationResponse(delegation: Delegation): Static<typeof DelegationResponse> {
  return {
    id: delegation.id,
    name: delegation.name,
    delegatorUserId: delegation.userId,
    awsUser: delegation.awsAccount,
    repository: delegation.repository,
    tag: delegation.tag ?? 'latest',
    awsRegion: delegation.awsRegion,
    dockerRegistryUri: registryHost(delegation),
    createdAt: delegation.createdAt.toISOString(),
  };
}
