import { ECR_ARN } from '../../domain/registries/delegation.ts';
import { byDefault, closed, dateTime, nullableString, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const secret = (description: string) => Type.String({ minLength: 1, writeOnly: true, description });

export const CreateRegistryRequest = closed(
  {
    name: Type.String({ minLength: 1 }),
    username: secret('User name at the registry. Stored encrypted, never returned.'),
    password: secret('Password or token. Stored encrypted, never returned.'),
  },
  { $id: 'CreateRegistryRequest' },
);

export const RegistryResponse = Type.Object(
  { id: Type.String(), name: Type.String() },
  { $id: 'Registry', description: 'Saved registry credentials. The host is taken from the image.' },
);

export const RegistryList = Type.Object(
  { registries: Type.Array(ref(RegistryResponse)) },
  { $id: 'RegistryList', description: 'The registries of the account, oldest first.' },
);

export const RegistryParams = Type.Object({ id: Type.String({ description: 'Registry identifier.' }) });

/** Without named groups, which not every JSON Schema implementation supports. */
const ARN_PATTERN = ECR_ARN.source.replace(/\(\?<\w+>/g, '(');

export const CreateDelegationRequest = closed(
  {
    resource: Type.String({ pattern: ARN_PATTERN, description: 'ARN of an Amazon ECR repository.' }),
    name: Type.Optional(byDefault(nullableString(), null)),
  },
  { $id: 'CreateDelegationRequest' },
);

export const DelegationResponse = Type.Object(
  {
    id: Type.String(),
    name: nullableString(),
    delegatorUserId: Type.String(),
    awsUser: Type.String({ description: 'AWS account of the repository.' }),
    repository: Type.String(),
    tag: Type.String({ description: 'Image tag: `latest` where the resource names none.' }),
    awsRegion: Type.String(),
    dockerRegistryUri: Type.String(),
    createdAt: dateTime(),
  },
  { $id: 'Delegation', description: 'Permission to pull from an Amazon ECR repository.' },
);

export const DelegationList = Type.Object(
  { delegations: Type.Array(ref(DelegationResponse)) },
  { $id: 'DelegationList', description: 'The delegations of the account, oldest first.' },
);

export const DelegationParams = Type.Object({ id: Type.String({ description: 'Delegation identifier.' }) });
