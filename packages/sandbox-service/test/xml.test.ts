import { Secret, TOTP } from 'otpauth';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { SANDBOX_ACCOUNTS } from '../src/accounts.ts';
import { START, startSandbox } from './sandbox.ts';

const { alice, tina, trustedApplication } = SANDBOX_ACCOUNTS;

const AUTH = newAuth(alice);
const OPEN_SESSION = '<task><code>1321001</code></task>';

function newAuth(account: { user: string; context: number; password: string }, token?: string): string {
  const { user, context, password } = account;
  const last = token === undefined ? '' : `<token>${token}</token>`;
  return `<auth><user>${user}</user><context>${context}</context><password>${password}</password>${last}</auth>`;
}

function newRequest(block: string, task: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<request>\n  ${block}\n  ${task}\n</request>`;
}

function generateToken(time: number): string {
  return new TOTP({ secret: Secret.fromBase32(tina.totpSecret) }).generate({ timestamp: time });
}

describe('the documented tasks', () => {
  it('1321001 opens a session with a hash, and 1321003 ends it', async () => {
    const { xml } = await startSandbox();
    const opened = await xml(newRequest(AUTH, OPEN_SESSION));
    expect(opened).toMatchObject({ status: 200, code: 'S1321001', type: 'success' });
    expect(opened.text).toMatch(/<stid>20270227-sandbox1-\d+<\/stid>/);
    const [, hash] = /<auth_session><hash>([0-9a-f-]{36})<\/hash><\/auth_session>/.exec(opened.text) ?? [];
    const session = `<auth_session><hash>${hash}</hash></auth_session>`;
    const update = '<task><code>400202</code><contact><id>501</id><city>Bern</city></contact></task>';
    expect((await xml(newRequest(session, update))).code).toBe('S400202');
    expect((await xml(newRequest(session, '<task><code>1321003</code></task>'))).code).toBe('S1321003');
    expect(await xml(newRequest(session, update))).toMatchObject({ status: 401, type: 'error' });
  });

  it('1321001 opens a session that ends after 10 minutes', async () => {
    const { xml, pass, service } = await startSandbox();
    const { text } = await xml(newRequest(AUTH, OPEN_SESSION));
    const [, hash] = /<hash>(.*)<\/hash>/.exec(text) ?? [];
    pass(10 * 60_000);
    const late = await xml(newRequest(`<auth_session><hash>${hash}</hash></auth_session>`, OPEN_SESSION));
    expect(late.explanation).toMatch(/unknown or has ended/);
    expect(service.sessions.count()).toBe(0);
  });

  it('0110005 searches preregistrations', async () => {
    const { xml } = await startSandbox();
    const view = '<view><children>true</children><offset>2</offset><limit>2</limit></view>';
    const and = (key: string, value: string) =>
      `<and><key>${key}</key><operator>like</operator><value>${value}</value></and>`;
    const where = `<where>${and('tld', 'rest')}${and('sld', 'table-0%')}</where>`;
    const rest = '<key>tmch_mark</key><key>nsentry</key><order><key>name</key><mode>asc</mode></order>';
    const found = await xml(newRequest(AUTH, `<task><code>0110005</code>${view}${where}${rest}</task>`));
    expect(found.code).toBe('S0110005');
    expect(found.result).toMatchObject({
      data: {
        summary: '99',
        domain_prereg: [
          {
            name: 'table-003.rest',
            created: '2026-11-01 12:00:00',
            nserver: [{ name: 'ns1.dns.example' }, { name: 'ns2.dns.example' }],
            order_reference: 'order-9003',
            prereg_config: { period_start: '2026-12-11 12:00:00' },
            tmch_mark: { id: 'mark-9003' },
            nsentry: expect.anything(),
          },
          { name: 'table-004.rest' },
        ],
      },
    });
    expect(found.text).not.toContain('<extension>');
    expect(found.text).not.toContain('<ownerc>');
  });

  it('accept values with entities, character references and CDATA', async () => {
    const erin = { user: 'erin', context: 4, password: ' <ä&🍰"]]> ' };
    const { xml } = await startSandbox({ users: [erin] });
    for (const written of [
      ' &lt;ä&amp;🍰"]]&gt; ',
      '&#32;&#x3c;&#228;&#38;&#x1F370;&quot;]]&gt; ',
      '<![CDATA[ <ä&🍰"]]]]><![CDATA[> ]]>',
    ]) {
      const answer = await xml(newRequest(newAuth({ ...erin, password: written }), OPEN_SESSION));
      expect(`${written} ${answer.explanation}`).toContain('session was created');
    }
  });
});

describe('access', () => {
  it('is allowed once per token for a two-factor user', async () => {
    const { xml, pass } = await startSandbox();
    const open = (token?: string) => xml(newRequest(newAuth(tina, token), OPEN_SESSION));
    expect(await open()).toMatchObject({
      status: 401,
      explanation: expect.stringMatching(/needs a two-factor token/),
    });
    expect((await open('000000')).explanation).toMatch(/wrong or run out/);
    expect((await open(generateToken(START - 30_000))).code).toBe('S1321001');
    expect((await open(generateToken(START))).code).toBe('S1321001');
    expect((await open(generateToken(START))).explanation).toMatch(/already used/);
    expect((await open(generateToken(START - 30_000))).explanation).toMatch(/already used/);
    pass(60_000);
    expect((await open(generateToken(START))).explanation).toMatch(/wrong or run out/);
    expect((await open(generateToken(START + 90_000))).code).toBe('S1321001');
  });

  it('is allowed with a token of the real time, whatever the registry’s clock says', async () => {
    const { xml, service } = await startSandbox();
    service.clock.setOffset(40 * 86_400_000);
    expect((await xml(newRequest(newAuth(tina, generateToken(START)), OPEN_SESSION))).code).toBe('S1321001');
  });

  it('is allowed for a trusted application with its name', async () => {
    const { xml } = await startSandbox();
    const { uuid, application, password } = trustedApplication;
    const block = (name: string) =>
      `<authentication><trusted_application><uuid>${uuid}</uuid><password>${password}</password>` +
      `<application><name>${name}</name></application></trusted_application></authentication>`;
    const task = '<task><code>400202</code><contact><id>501</id><city>Bern</city></contact></task>';
    expect((await xml(newRequest(block(application), task))).code).toBe('S400202');
    expect(await xml(newRequest(block('other'), task))).toMatchObject({ status: 401 });
  });

  const session = '<auth_session><hash>00000000-0000-4000-8000-000000000000</hash></auth_session>';
  it.each<[string, string, number, RegExp]>([
    ['no credentials', '', 401, /no authentication block/],
    ['a wrong password', newAuth({ ...alice, password: 'wrong' }), 401, /wrong/],
    ['an unknown session', session, 401, /unknown/],
    ['an invalid hash', '<auth_session><hash>1</hash></auth_session>', 200, /UUID/],
    ['a token of a user without two-factor login', newAuth(alice, '123456'), 401, /not a two-factor/],
    ['a token of letters', newAuth(tina, 'abcdef'), 200, /six digits/],
    ['two authentication blocks', `${AUTH}${session}`, 200, /one authentication block/],
    ['an invalid context', AUTH.replace('>4<', '> 4<'), 200, /context/],
    ['an undocumented element', AUTH.replace('</auth>', '<otp>1</otp></auth>'), 200, /unknown element otp/],
  ])('is refused with %s', async (_, block, status, sentence) => {
    const { xml } = await startSandbox();
    const answer = await xml(newRequest(block, OPEN_SESSION));
    expect(answer.explanation).toMatch(sentence);
    expect(answer).toMatchObject({ status, type: 'error', code: expect.stringMatching(/^EF\d{5,7}$/) });
  });
});

describe('an undocumented request', () => {
  const redirect = (fields: string) =>
    newRequest(AUTH, `<task><code>0502</code><redirect>${fields}</redirect></task>`);
  const VALID =
    '<type>domain</type><mode>frame</mode><source>shop.cafe.rest</source><target>a.example</target>';
  it.each<[string, string, RegExp]>([
    ['truncated', newRequest(AUTH, OPEN_SESSION).slice(0, -5), /well-formed/],
    ['two roots', '<request/><request/>', /one root element/],
    ['document type', `<!DOCTYPE r><request>${AUTH}${OPEN_SESSION}</request>`, /DOCTYPE/],
    ['attribute', newRequest(AUTH, '<task id="1"><code>1321001</code></task>'), /attributes/],
    ['entity', newRequest(AUTH, '<task><code>&nbsp;</code></task>'), /entity/],
    ['control character', newRequest(AUTH, '<task><code>&#1;</code></task>'), /entity/],
    ['another root', `<order>${AUTH}${OPEN_SESSION}</order>`, /root is request/],
    ['order of blocks', `<request>${OPEN_SESSION}${AUTH}</request>`, /then the task/],
    ['code without its zero', newRequest(AUTH, '<task><code>502</code></task>'), /no task 502/],
    ['blank in the code', newRequest(AUTH, '<task><code> 1321001 </code></task>'), /no task/],
    [
      'task element',
      newRequest(AUTH, '<task><code>1321001</code><ctid>1</ctid></task>'),
      /unknown element ctid/,
    ],
    ['unknown element', redirect(`${VALID}<frame>1</frame>`), /unknown element frame/],
    ['element twice', redirect(`${VALID}<type>domain</type>`), /given twice/],
    ['missing element', redirect(VALID.replace('<target>a.example</target>', '')), /target is missing/],
    ['JSON spelling', redirect(VALID.replace('>domain<', '>DOMAIN<')), /type: must be one of domain, email/],
    ['unknown mode', redirect(VALID.replace('>frame<', '>http<')), /mode: must be one of frame, single/],
    ['other type', redirect(VALID.replace('>domain<', '>email<')), /cannot change/],
    ['text between', redirect(`loose${VALID}`), /text between/],
  ])('is refused: %s', async (_, body, sentence) => {
    const { xml } = await startSandbox();
    const answer = await xml(body);
    expect(answer.explanation).toMatch(sentence);
    expect(answer).toMatchObject({ status: 200, type: 'error' });
  });

  it('is refused because of its method, content type or query', async () => {
    const { service } = await startSandbox();
    const headers = { 'content-type': 'text/xml' };
    const body = newRequest(AUTH, OPEN_SESSION);
    const status = async (url: string, options: Parameters<typeof request>[1]) => {
      const answer = await request(url, options);
      return [answer.statusCode, /<text>(.*?)<\/text>/.exec(await answer.body.text())?.[1]];
    };
    expect(await status(service.xmlUrl, { method: 'GET' })).toEqual([405, 'GET: POST is needed']);
    const asJson = { method: 'POST', headers: { 'content-type': 'application/json' }, body } as const;
    expect(await status(service.xmlUrl, asJson)).toEqual([415, expect.stringMatching(/text\/xml/)]);
    const withQuery = await status(`${service.xmlUrl}?ctid=1`, { method: 'POST', headers, body });
    expect(withQuery).toEqual([200, expect.stringMatching(/no parameters/)]);
  });
});
