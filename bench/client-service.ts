import { createServer } from 'node:net';

/*
 * The service for the client's rows, in a separate process. It sends prepared responses and does as little as possible,
 * so that only the client is measured. It sends its port to the parent process.
 */

/** The number of records in each response; 0 is the response to an update. Paths end with the number. */
const SIZES = [0, 1, 20, 100] as const;

function buildJsonRecord(number: number): object {
  return {
    name: `name-${number}.rest`,
    created: '2026-07-01T09:30:00.000+0200',
    updated: '2026-07-02T10:45:10.000+0200',
    owner: { context: 4, user: 'customer' },
    ownerc: { id: 1000 + number },
    zonec: { id: 2000 + number },
    adminc: { id: 3000 + number },
    techc: { id: 4000 + number },
    nameServers: [{ name: 'ns1.example.net' }, { name: 'ns2.example.net' }],
    status: 'PENDING',
    phase: 'sunrise1',
    orderReference: `order-${number}`,
    preregConfig: {
      confirmation_start: '2026-07-01 00:00:00',
      confirmation_end: '2026-08-01 00:00:00',
      period_start: '2026-08-02 00:00:00',
      period_end: '2026-09-02 00:00:00',
    },
    recommended: number % 2 === 0,
  };
}

function buildJson(size: number): string {
  const stid = '20260701-app1-123456';
  if (size === 0) {
    const status = { code: 'S0105', text: 'Domain was updated successfully.', type: 'SUCCESS' };
    return JSON.stringify({ stid, status, object: { type: 'Domain', value: 'cafe.rest' } });
  }
  return JSON.stringify({
    stid,
    status: { code: 'S0110005', text: 'The data was returned successfully.', type: 'SUCCESS' },
    object: { type: 'DomainPrereg', summary: size },
    data: Array.from({ length: size }, (_, number) => buildJsonRecord(number)),
  });
}

function buildXmlRecord(number: number): string {
  const id = (name: string, value: number): string => `<${name}><id>${value}</id></${name}>`;
  return `
      <domain_prereg>
        <name>name-${number}.rest</name>
        <created>2026-07-01 09:30:00</created>
        <updated>2026-07-02 10:45:10</updated>
        <owner><context>4</context><user>customer</user></owner>
        ${id('ownerc', 1000 + number)}${id('zonec', 2000 + number)}${id('adminc', 3000 + number)}${id('techc', 4000 + number)}
        <nserver><name>ns1.example.net</name></nserver>
        <nserver><name>ns2.example.net</name></nserver>
        <status>PENDING</status>
        <phase>sunrise1</phase>
        <order_reference>order-${number}</order_reference>
        <prereg_config>
          <confirmation_start>2026-07-01 00:00:00</confirmation_start>
          <confirmation_end>2026-08-01 00:00:00</confirmation_end>
          <period_start>2026-08-02 00:00:00</period_start>
          <period_end>2026-09-02 00:00:00</period_end>
        </prereg_config>
        <recommended>${number % 2 === 0}</recommended>
      </domain_prereg>`;
}

function buildXml(size: number): string {
  const records = Array.from({ length: size }, (_, number) => buildXmlRecord(number)).join('');
  const data = size === 0 ? '<data/>' : `<data>\n      <summary>${size}</summary>${records}\n    </data>`;
  const [code, text] =
    size === 0
      ? ['S0502', 'The redirect was updated successfully.']
      : ['S0110005', 'The data was returned successfully.'];
  return `<?xml version="1.0" encoding="UTF-8"?>
<response>
  <result>
    ${data}
    <status>
      <code>${code}</code>
      <text>${text}</text>
      <type>success</type>
    </status>
  </result>
  <stid>20260701-app1-123456</stid>
</response>
`;
}

function buildResponse(type: string, body: string): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`);
}

const RESPONSES = new Map(
  SIZES.flatMap((size): [string, Buffer][] => [
    [`json-${size}`, buildResponse('application/json;charset=UTF-8', buildJson(size))],
    [`xml-${size}`, buildResponse('application/xml;charset=UTF-8', buildXml(size))],
  ]),
);

const HEAD_END = '\r\n\r\n';

/** Responds to each request with one write, when its last byte has arrived. */
const server = createServer({ noDelay: true }, (socket) => {
  let response: Buffer | undefined;
  let missingBytes = 0;
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    if (response === undefined) {
      const text = chunk.toString('latin1');
      const path = /^[A-Z]+ \/([a-z]+-\d+)/.exec(text)?.[1] ?? '';
      const head = text.indexOf(HEAD_END);
      response = RESPONSES.get(path);
      if (response === undefined || head === -1) {
        socket.destroy();
        return;
      }
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      missingBytes = head + HEAD_END.length + length;
    }
    missingBytes -= chunk.length;
    if (missingBytes > 0) return;
    socket.write(response);
    response = undefined;
  });
});
// The parent may end without a message.
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.send?.(address.port);
});
