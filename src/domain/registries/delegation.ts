import type { DelegationId, UserId } from '../../core/ids.ts';

/** The parts of an ECR repository's ARN: `arn:<partition>:ecr:<region>:<account>:repository/<repository>[:<tag>]`. */
export interface EcrRepository {
  partition: string;
  awsRegion: string;
  awsAccount: string;
  repository: string;
  tag: string | null;
}

/** A wish to pull from an ECR repository without a stored password. Podyard keeps it; it has no AWS identity to act on it. */
export interface Delegation extends EcrRepository {
  id: DelegationId;
  userId: UserId;
  name: string | null;
  createdAt: Date;
}

/** The same rule as the request's schema, with names for the parts. */
export const ECR_ARN =
  /^arn:(?<partition>aws[a-z-]*):ecr:(?<awsRegion>[a-z]{2}[a-z0-9-]+):(?<awsAccount>[0-9]{12}):repository\/(?<repository>[a-z0-9][a-z0-9._/-]*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?$/;

/** Undefined for anything that is not the ARN of an ECR repository. */
export function parseEcrArn(text: string): EcrRepository | undefined {
  const parts = ECR_ARN.exec(text)?.groups;
  if (!parts) return undefined;
  return {
    partition: parts.partition!,
    awsRegion: parts.awsRegion!,
    awsAccount: parts.awsAccount!,
    repository: parts.repository!,
    tag: parts.tag ?? null,
  };
}

/** The host to pull from; the partition decides its domain. */
export function registryHost({ awsAccount, awsRegion, partition }: EcrRepository): string {
  return `${awsAccount}.dkr.ecr.${awsRegion}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`;
}
