import type { DelegationId, UserId } from '../../core/ids.ts';

/** The parts of an ECR repository's ARN: `arn:<partition>:ecr:<region>:<account>:repository/<repository>[:<tag>]`. */
export interface EcrRepository {
  partition: string;
  awsRegion: string;
  awsAccount: string;
  repository: string;
  tag: string | null;
}

/** A request to pull from an ECR repository without a stored password. Podyard stores it but has no AWS identity to use it. */
export interface Delegation extends EcrRepository {
  id: DelegationId;
  userId: UserId;
  name: string | null;
  createdAt: Date;
}

/** The request schema's rule, with named parts. */
export const ECR_ARN =
  /^arn:(?<partition>aws[a-z-]*):ecr:(?<awsRegion>[a-z]{2}[a-z0-9-]+):(?<awsAccount>[0-9]{12}):repository\/(?<repository>[a-z0-9][a-z0-9._/-]*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?$/;

/** Returns undefined for anything but the ARN of an ECR repository. */
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

/** Returns the host to pull from; its domain depends on the partition. */
export function registryHost({ awsAccount, awsRegion, partition }: EcrRepository): string {
  return `${awsAccount}.dkr.ecr.${awsRegion}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`;
}
