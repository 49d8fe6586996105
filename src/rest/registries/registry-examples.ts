import { CREATED_AT, type Examples, USER_ID } from '../shared/example-values.ts';

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

export const REGISTRY_EXAMPLES: Examples = {
  Registry: registry,
  RegistryList: { registries: [registry] },
  CreateRegistryRequest: { name: registry.name, username: 'robot', password: 'a token of the registry' },
  Delegation: delegation,
  DelegationList: { delegations: [delegation] },
  CreateDelegationRequest: { resource: REPOSITORY_ARN, name: delegation.name },
};
