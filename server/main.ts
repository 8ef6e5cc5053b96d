import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { WebSocketServer } from 'ws';
import { parsePiCommand } from './bridge/pi-command.ts';
import { openBrowser } from './browser.ts';
import { Connection } from './connection.ts';
import { api } from './api.ts';
import { Gate, PROTOCOL } from './gate.ts';
import { page, setHeaders } from './http.ts';
import { Hub } from './hub.ts';
import { Logins } from './logins.ts';
import { Newcomers } from './newcomers.ts';
import { SessionId } from './protocol.ts';
import { stateFolder } from './state-folder.ts';
import { is } from 'valibot';

const HELP = `Holdfast: a browser front end for the Pi coding agent.

  npm start -- [FLAGS]

  --cwd DIR        the folder Pi works in (default: this one)
  --continue       open the session last worked on in that folder
  --session ID     open this session of Pi
  --demo           answer with a scripted provider that plays real faults
  --pi "COMMAND"   start this Pi instead of our own, for example "ssh host pi"
  --port N         default: 4180, or a free one when that is taken; 0: any free one
  --host H         the address to listen on (default: 127.0.0.1)
  --origin URL     a further address that browsers reach it by, as in https://holdfast.example
  --no-open        do not open a browser
  --help
`;
const DEFAULT_PORT = 4180;
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const HEADERS_LIMIT_MS = 5_000;
const REQUEST_LIMIT_MS = 10_000;
/** The close code for a browser whose log-in has ended. */
const LOCKED = 4401;
const STOP_LIMIT_MS = 6_000;

async function main() {
	const flags = parseFlags();
	if (flags.help) return void process.stdout.write(HELP);

	const hub = new Hub({
		cwd: flags.cwd,
		env: process.env,
		...ringEvents(),
		demo: flags.demo ? 'always' : 'when needed',
		...(flags.pi === undefined ? {} : { pi: parsePiCommand(flags.pi) }),
		ondemo: () =>
			console.error(
				'No model provider is configured, so the demo answers. To use a real one: run `npx pi` and type /login, or set an API key such as ANTHROPIC_API_KEY, then start Holdfast again.',
			),
	});
	// Started before it is asked for: Pi takes longer to start than a browser.
	const opened = flags.continue
		? hub.latest()
		: flags.session === undefined
			? hub.fresh()
			: hub.open(flags.session);
	opened.catch((error: Error) => console.error(error.message));

	const server = createServer({
		headersTimeout: HEADERS_LIMIT_MS,
		requestTimeout: REQUEST_LIMIT_MS,
		connectionsCheckingInterval: 1_000,
	});
	const port = await listen(server, flags.port, flags.host);
	const origins = [...flags.origin, ...originOf(flags.host, port)];
	const logins = new Logins(stateFolder(process.env));
	const dev = flags.dev ? await import('./dev.ts') : undefined;
	const gate = new Gate(logins, origins, dev?.HMR_PROTOCOL);
	const newcomers = new Newcomers(server);

	const sockets = new WebSocketServer({
		noServer: true,
		maxPayload: MAX_FRAME_BYTES,
		perMessageDeflate: false,
		handleProtocols: () => PROTOCOL,
	});
	server.on('upgrade', (request, socket, head) => {
		socket.on('error', () => socket.destroy());
		const refusal = gate.refuse(request);
		if (refusal) {
			return void socket.end(
				`HTTP/1.1 ${refusal.status} Refused\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(refusal.message)}\r\n\r\n${refusal.message}`,
			);
		}
		newcomers.admit(socket);
		if (dev && request.headers['sec-websocket-protocol'] === dev.HMR_PROTOCOL) return;
		sockets.handleUpgrade(request, socket, head, (browser) => new Connection(browser, hub));
	});
	logins.onlock(() => {
		for (const client of sockets.clients) client.close(LOCKED, 'All browsers were logged out');
	});

	const answer = api(gate, logins);
	const files = dev ? await dev.devPage(server) : page();
	server.on('request', (request, response) => {
		if (!dev) setHeaders(response);
		const refusal = gate.refuse(request);
		if (refusal) return void response.writeHead(refusal.status).end(refusal.message);
		if (!answer(request, response)) files(request, response);
	});

	const session =
		flags.session ?? (flags.continue ? (await opened.catch(() => undefined))?.id : undefined);
	const origin = origins[0] ?? `http://127.0.0.1:${port}`;
	hub.announce(origin);
	const url = `${origin}/${session === undefined ? '' : `?session=${session}`}#ticket=${logins.ticket()}`;
	process.stdout.write(`Holdfast is ready: ${url}\n`);
	if (flags.open) openBrowser(url, stateFolder(process.env));

	const stop = async () => {
		setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
		server.close();
		for (const client of sockets.clients) client.close(1001, 'Holdfast is stopping');
		await hub.close();
		process.exit(0);
	};
	let stopping: Promise<void> | undefined;
	for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
		process.on(signal, () => (stopping ??= stop()));
	}
	// The bootstrap that started us is gone.
	process.on('disconnect', () => (stopping ??= stop()));
}

function parseFlags() {
	const { values } = parseArgs({
		allowNegative: true,
		options: {
			port: { type: 'string' },
			host: { type: 'string', default: '127.0.0.1' },
			origin: { type: 'string', multiple: true, default: [] },
			cwd: { type: 'string', default: process.env['INIT_CWD'] ?? process.cwd() },
			open: { type: 'boolean', default: true },
			demo: { type: 'boolean', default: false },
			pi: { type: 'string' },
			continue: { type: 'boolean', default: false },
			session: { type: 'string' },
			/** For work on Holdfast itself: `npm run dev`. */
			dev: { type: 'boolean', default: false },
			help: { type: 'boolean', default: false },
		},
	});
	const port = values.port === undefined ? undefined : Number(values.port);
	if (port !== undefined && (!Number.isInteger(port) || port < 0 || port > 65_535)) {
		throw new Error(`--port takes a number from 0 to 65535, not "${values.port}".`);
	}
	for (const origin of values.origin) {
		if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
			throw new Error(
				`--origin takes an address without a path, as in https://holdfast.example, not "${origin}".`,
			);
		}
	}
	const cwd = resolve(values.cwd);
	if (!existsSync(cwd))
		throw new Error(`The folder ${cwd} does not exist; --cwd takes one that does.`);
	if (values.session !== undefined && !is(SessionId, values.session)) {
		throw new Error(`--session takes the id of a session of Pi, not "${values.session}".`);
	}
	return { ...values, port, cwd };
}

async function listen(
	server: ReturnType<typeof createServer>,
	port: number | undefined,
	host: string,
) {
	const attempt = (wanted: number) =>
		new Promise<number>((resolve, reject) => {
			server.once('error', reject);
			server.listen(wanted, host, () => {
				server.off('error', reject);
				resolve((server.address() as AddressInfo).port);
			});
		});
	try {
		return await attempt(port ?? DEFAULT_PORT);
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		if (code !== 'EADDRINUSE') throw new Error(`Cannot listen on ${host}: ${message}`);
		if (port !== undefined) throw new Error(`Port ${port} is in use; --port 0 takes a free one.`);
		return attempt(0);
	}
}

/** For tests: a small ring makes browsers that were away need a snapshot. */
const ringEvents = () => {
	const events = Number(process.env['HOLDFAST_RING_EVENTS']);
	return events > 0 ? { ringEvents: events } : {};
};

/** How browsers reach an address that was asked for; the loopback ones, and all of them, by default. */
function originOf(host: string, port: number): string[] {
	const everywhere = ['127.0.0.1', 'localhost', '::1', '0.0.0.0', '::'];
	if (everywhere.includes(host)) return [];
	return [new URL(`http://${host.includes(':') ? `[${host}]` : host}:${port}`).origin];
}

try {
	await main();
} catch (error) {
	console.error(`Holdfast: ${(error as Error).message}`);
	process.exit(1);
}
