/**
 * Networks that belong to a machine itself: link-local ones, and the services of clouds for their machines (metadata, and
 * Azure's WireServer). No workload and no registry has a reason to be there.
 */
export const MACHINE_SERVICES: Readonly<Record<4 | 6, readonly string[]>> = {
  4: ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'],
  6: ['fe80::/10', 'fd00:ec2::254/128', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128'],
};
