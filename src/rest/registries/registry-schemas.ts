import { ECR_ARN } from '../../domain/registries/delegation.ts';
import { CREATED_AT, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
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

const registry = { id: 'c2x7z4a9s1d6fg', name: 'ghcr' };

const REPOSITORY_ARN = 'arn:aws:ecr:eu-central-1:123456789012:repository/team/transcriber';
const delegation = {
  id: 'd6j1k8l3q5w0er',
  name: 'team images',
  delegatorUserId: USER_ID,
  awsUser: '123456789012',
  repository: 'team/transcriber',
  tag: 'latest',
  awsRegion: 'eu-central-1',
  dockerRegistryUri: '123456789012.dkr.ecr.eu-central-1.amazonaws.com/team/transcriber',
  createdAt: CREATED_AT,
};

export const REGISTRY_SCHEMAS: NamedSchemas = [
  [RegistryResponse, registry],
  [RegistryList, { registries: [registry] }],
  [CreateRegistryRequest, { name: registry.name, username: 'robot', password: 'a token of the registry' }],
  [DelegationResponse, delegation],
  [DelegationList, { delegations: [delegation] }],
  [CreateDelegationRequest, { resource: REPOSITORY_ARN, name: delegation.name }],
];
