import { DAY_MS } from './clock.ts';
import type { SandboxDns } from './dns/server.ts';
import type { SandboxService } from './server.ts';

export interface StoryStep {
  /** Days since the start of the story. */
  readonly day: number;
  /** Shown to people. */
  readonly title: string;
  readonly run: () => void;
}

export interface StoryContext {
  readonly service: Pick<SandboxService, 'registry' | 'clock' | 'state'>;
  readonly dns: SandboxDns;
  /** The name that the story is about. It must be registered at the sandbox. */
  readonly name: string;
}

const OUR_NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];
const NEW_NAMESERVERS = ['ns1.newhost.example', 'ns2.newhost.example'];
const THIEF_NAMESERVERS = ['ns1.thief.example'];
const LOCK_STATUSES = ['client transfer prohibited', 'client delete prohibited'];
const OUR_REGISTRAR = { ianaId: '9998', name: 'Sandbox Registrar Ltd' };
const THIEF_REGISTRAR = { ianaId: '9999', name: 'Elsewhere Registrar Inc.' };

function buildZoneRecords(address: string): string[] {
  return [
    `@ A ${address}`,
    'www A 198.51.100.7',
    '@ MX 10 mail.host.example',
    '@ TXT "v=spf1 mx -all"',
    '_dmarc TXT "v=DMARC1; p=reject"',
  ];
}

/** Prepares the start of every story: the name resolves, is locked and is at the team's registrar. */
export async function setUpStory({ service, dns, name }: StoryContext): Promise<void> {
  for (const host of [...OUR_NAMESERVERS, ...NEW_NAMESERVERS, ...THIEF_NAMESERVERS])
    await dns.addNameserver(host);
  dns.world.serve(name, OUR_NAMESERVERS, buildZoneRecords('198.51.100.7'));
  dns.world.delegate(name, OUR_NAMESERVERS);
  service.registry.show(name, {
    registrar: OUR_REGISTRAR,
    owner: { name: 'Anna Example', organization: 'Example GmbH' },
    statuses: ['active', ...LOCK_STATUSES],
    nameServers: OUR_NAMESERVERS,
    isSigned: false,
  });
}

/** The name is stolen: its locks are removed, and it is transferred away, which adds a year to its expiry. */
export function theft({ service, dns, name }: StoryContext): readonly StoryStep[] {
  const { registry } = service;
  return [
    {
      day: 1,
      title: 'The locks are gone',
      run: () => registry.show(name, { statuses: ['active'] }),
    },
    {
      day: 2,
      title: 'A transfer is under way',
      run: () => registry.show(name, { statuses: ['active', 'pending transfer'] }),
    },
    {
      day: 7,
      title: 'The name is at another registrar, a year longer',
      run: () => {
        const now = service.clock.registryTime();
        const expires = service.state.findPublicDomain(name)?.expires ?? now;
        registry.show(name, {
          registrar: THIEF_REGISTRAR,
          statuses: ['active', ...LOCK_STATUSES],
          expires: expires + 365 * DAY_MS,
          transferredAt: now,
        });
      },
    },
    {
      day: 8,
      title: 'The thief’s nameservers answer for it',
      run: () => {
        dns.world.serve(name, THIEF_NAMESERVERS, buildZoneRecords('203.0.113.66'));
        dns.world.delegate(name, THIEF_NAMESERVERS);
        registry.show(name, { nameServers: THIEF_NAMESERVERS, owner: 'redacted' });
      },
    },
  ];
}

/** A move to nameservers that don't have the name's zone yet. The name disappears from DNS until it is moved back. */
export function failedMove({ service, dns, name }: StoryContext): readonly StoryStep[] {
  return [
    {
      day: 1,
      title: 'The name is delegated to nameservers that do not know it',
      run: () => {
        dns.world.delegate(name, NEW_NAMESERVERS);
        service.registry.show(name, { nameServers: NEW_NAMESERVERS });
      },
    },
    {
      day: 2,
      title: 'The name is moved back',
      run: () => {
        dns.world.delegate(name, OUR_NAMESERVERS);
        service.registry.show(name, { nameServers: OUR_NAMESERVERS });
      },
    },
  ];
}

/** The name's zone is removed from its nameservers, but the delegation stays. Then a stranger creates a zone there. */
export function lapsedDelegation({ dns, name }: StoryContext): readonly StoryStep[] {
  return [
    {
      day: 1,
      title: 'The nameservers do not hold the name any more',
      run: () => dns.world.drop(name, OUR_NAMESERVERS),
    },
    {
      day: 20,
      title: 'A stranger has a zone of this name at the same nameservers',
      run: () => dns.world.serve(name, OUR_NAMESERVERS, ['@ A 203.0.113.66', '@ MX 10 mail.thief.example']),
    },
  ];
}
