import { DAY } from './clock.ts';
import type { SandboxDns } from './dns/server.ts';
import type { SandboxService } from './server.ts';

export interface StoryStep {
  /** Days since the start of the story. */
  readonly day: number;
  /** Shown to people. */
  readonly title: string;
  readonly run: () => void;
}

/** The name that a story is about. It is registered at the sandbox and has mail and a website. */
export interface StoryContext {
  readonly service: Pick<SandboxService, 'registry' | 'clock' | 'state'>;
  readonly dns: SandboxDns;
  readonly name: string;
}

const HOSTS = ['ns1.host.example', 'ns2.host.example'];
const NEW_HOSTS = ['ns1.newhost.example', 'ns2.newhost.example'];
const THIEF_HOSTS = ['ns1.thief.example'];
const LOCKS = ['client transfer prohibited', 'client delete prohibited'];
const OUR_REGISTRAR = { ianaId: '9998', name: 'Sandbox Registrar Ltd' };
const THIEF_REGISTRAR = { ianaId: '9999', name: 'Elsewhere Registrar Inc.' };

function buildZoneLines(address: string): string[] {
  return [
    `@ A ${address}`,
    'www A 198.51.100.7',
    '@ MX 10 mail.host.example',
    '@ TXT "v=spf1 mx -all"',
    '_dmarc TXT "v=DMARC1; p=reject"',
  ];
}

/** Creates the state in which every story starts: the name is locked, at the team's registrar, and resolves. */
export async function setUpStory({ service, dns, name }: StoryContext): Promise<void> {
  for (const host of [...HOSTS, ...NEW_HOSTS, ...THIEF_HOSTS]) await dns.addNameserver(host);
  dns.world.serve(name, HOSTS, buildZoneLines('198.51.100.7'));
  dns.world.delegate(name, HOSTS);
  service.registry.show(name, {
    registrar: OUR_REGISTRAR,
    owner: { name: 'Anna Example', organization: 'Example GmbH' },
    statuses: ['active', ...LOCKS],
    nameServers: HOSTS,
    isSigned: false,
  });
}

/** The name is stolen: its locks are removed, it is transferred away, and its expiry changes as after a renewal. */
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
        const now = service.clock.registry();
        const expires = service.state.publicDomain(name)?.expires ?? now;
        registry.show(name, {
          registrar: THIEF_REGISTRAR,
          statuses: ['active', ...LOCKS],
          expires: expires + 365 * DAY,
          transferredAt: now,
        });
      },
    },
    {
      day: 8,
      title: 'The thief’s nameservers answer for it',
      run: () => {
        dns.world.serve(name, THIEF_HOSTS, buildZoneLines('203.0.113.66'));
        dns.world.delegate(name, THIEF_HOSTS);
        registry.show(name, { nameServers: THIEF_HOSTS, owner: 'redacted' });
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
        dns.world.delegate(name, NEW_HOSTS);
        service.registry.show(name, { nameServers: NEW_HOSTS });
      },
    },
    {
      day: 2,
      title: 'The name is moved back',
      run: () => {
        dns.world.delegate(name, HOSTS);
        service.registry.show(name, { nameServers: HOSTS });
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
      run: () => dns.world.drop(name, HOSTS),
    },
    {
      day: 20,
      title: 'A stranger has a zone of this name at the same nameservers',
      run: () => dns.world.serve(name, HOSTS, ['@ A 203.0.113.66', '@ MX 10 mail.thief.example']),
    },
  ];
}
