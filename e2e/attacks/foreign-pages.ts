import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Frame, Page } from 'playwright';
import { WebSocketServer } from 'ws';
import { login } from '../login.ts';
import { good } from './raw-http.ts';
import type { Report } from './report.ts';
import { expect, openPage, type Stage, type Target } from './stage.ts';

const NOTHING = 'nothing';

/** What a page tries on another origin; each says in a word what it has got. */
const ATTACKS = [
	'WebSocket',
	'WebSocket with a guessed key',
	'fetch, credentials included',
	'fetch, no-cors POST /api/lock',
	'fetch, no-cors POST /api/login',
	'fetch, with a header of its own',
	'sendBeacon /api/lock',
	'form POST /api/lock',
	'form POST /api/login as text',
	'<script src>',
	'<img>',
	'<link rel=stylesheet>',
	'<iframe>',
	'a window, and a hold on it',
] as const;
type Attack = (typeof ATTACKS)[number];

/**
 * Pages of others, in the very browser profile that is logged in. Each attack is played on a server
 * without any protection first, where it must come to something: then Holdfast has withstood it.
 */
export async function foreignPages(report: Report, stage: Stage) {
	const { target } = stage;
	const { context, page: ours, ui } = await openPage(stage);
	const soft = await startUnprotected();
	const credentials = await login(target.holdfast.address());
	const requests = target.folder.provider.requests.length;
	const origin = new URL(target.holdfast.url).origin;
	const asset = /src="(\/assets\/[^"]+\.js)"/.exec(await (await fetch(origin)).text())![1]!;
	try {
		for (const name of ['127.0.0.1', 'evil.test']) {
			const from = `http://${name}:${soft.port}`;
			report.begin(name === '127.0.0.1' ? 'a page on another port' : 'a page of evil.test');
			const page = await context.newPage();
			for (const attack of ATTACKS) {
				const answers: string[] = [];
				// The other name of this machine is another origin for the unprotected server as well.
				for (const victim of [`http://localhost:${soft.port}`, origin]) {
					await page.goto(`${from}/foreign`);
					soft.reset();
					const got = await play(page, page.mainFrame(), attack, victim, asset);
					const locked = victim === origin ? !(await good(target.port, credentials)) : soft.changed;
					answers.push(locked ? 'all log-ins ended' : got);
				}
				line(report, attack, answers);
			}
			await page.close();
		}
		await sandboxed(report, context, soft, origin, asset);
		await rebinding(report, context, target);
		await tossing(report, context, target, soft.port, ours);

		report.begin('after all that these pages did');
		const arrived = target.folder.provider.requests.length - requests;
		report.line('prompts that reached the model', '0', String(arrived));
		const ran = existsSync(join(target.folder.cwd, 'pwned'));
		report.line('commands that ran', 'none', ran ? 'one' : 'none');
		report.line('log-ins', 'good', (await good(target.port, credentials)) ? 'good' : 'ended');
		await ui.send('Are you there?');
		await expect(ui.answers.last()).toHaveText('Yes.');
		report.line('our own page, asked', 'Yes.', (await ui.answers.last().textContent())!.trim());
	} finally {
		await context.close();
		await soft.close();
	}
}

/** Nothing must be got from Holdfast, and something from the unprotected server. */
function line(report: Report, attack: string, [unprotected, ours]: string[]) {
	const idle = unprotected === NOTHING ? ', but it gets nothing anywhere' : '';
	report.line(attack, NOTHING, `${ours}${idle}`);
}

async function play(page: Page, frame: Frame, attack: Attack, victim: string, asset: string) {
	if (attack === 'a window, and a hold on it') return hold(page, victim);
	const got = await frame.evaluate(inPage, [attack, victim, asset] as const);
	if (attack === '<iframe>') {
		const framed = page.frames().find((one) => one.url().startsWith(victim));
		return framed ? 'a frame of it' : NOTHING;
	}
	return got;
}

/** Whether the page that opened a window can still tell what becomes of it, or send it elsewhere. */
async function hold(page: Page, victim: string) {
	const opening = page.context().waitForEvent('page');
	const held = await page.evaluateHandle((url) => window.open(url), `${victim}/`);
	const opened = await opening;
	await opened.waitForURL(`${victim}/**`);
	await opened.waitForLoadState();
	const got = await held.evaluate((opened) =>
		opened!.closed ? 'nothing' : 'a hold on its window',
	);
	await opened.close();
	return got;
}

/** Runs in the foreign page. */
async function inPage([attack, victim, asset]: readonly [Attack, string, string]): Promise<string> {
	const NOTHING = 'nothing';
	const socket = (protocols?: string[]) =>
		new Promise<string>((resolve) => {
			const socket = new WebSocket(victim.replace('http', 'ws') + '/', protocols);
			socket.onerror = () => resolve(NOTHING);
			socket.onopen = () => {
				socket.send(JSON.stringify({ type: 'hello', session: 'new' }));
				resolve('a socket');
			};
			socket.onmessage = ({ data }) => {
				const { session } = JSON.parse(data as string) as { session?: string };
				const command = { type: 'bash', command: 'touch pwned' };
				if (session) socket.send(JSON.stringify({ type: 'command', id: 'x', session, command }));
			};
		});
	const ask = async (path: string, init: RequestInit) => {
		try {
			const answer = await fetch(victim + path, { credentials: 'include', ...init });
			return answer.type === 'opaque' ? NOTHING : `its text (${(await answer.text()).length})`;
		} catch {
			return NOTHING;
		}
	};
	const element = (made: HTMLElement) =>
		new Promise<string>((resolve) => {
			made.onload = () => resolve('loaded');
			made.onerror = () => resolve(NOTHING);
			document.body.append(made);
		});
	const form = async (path: string, fields: [string, string][]) => {
		const frame = document.createElement('iframe');
		frame.name = 'answers';
		const loaded = element(frame);
		await loaded;
		const made = document.createElement('form');
		Object.assign(made, { method: 'POST', action: victim + path, target: 'answers' });
		made.enctype = 'text/plain';
		for (const [name, value] of fields) {
			made.append(Object.assign(document.createElement('input'), { name, value }));
		}
		document.body.append(made);
		const answered = new Promise((resolve) => (frame.onload = resolve));
		made.submit();
		await answered;
		return NOTHING;
	};

	switch (attack) {
		case 'WebSocket':
			return socket();
		case 'WebSocket with a guessed key':
			return socket(['holdfast', `key.${'A'.repeat(43)}`]);
		case 'fetch, credentials included':
			return ask('/', {});
		case 'fetch, no-cors POST /api/lock':
			return ask('/api/lock', { method: 'POST', mode: 'no-cors' });
		case 'fetch, no-cors POST /api/login':
			return ask('/api/login', { method: 'POST', mode: 'no-cors', body: '{}' });
		case 'fetch, with a header of its own':
			return ask('/api/login', {
				...{ method: 'POST', body: '{}' },
				headers: { Authorization: 'Bearer x' },
			});
		case 'sendBeacon /api/lock':
			navigator.sendBeacon(`${victim}/api/lock`, '');
			// The next request of this page comes after it.
			return ask('/api/none', { mode: 'no-cors' });
		case 'form POST /api/lock':
			return form('/api/lock', []);
		case 'form POST /api/login as text':
			return form('/api/login', [['{"ticket":"', '"}']]);
		case '<script src>':
			return element(Object.assign(document.createElement('script'), { src: victim + asset }));
		case '<img>':
			return element(Object.assign(document.createElement('img'), { src: `${victim}/icon.svg` }));
		case '<link rel=stylesheet>':
			return element(
				Object.assign(document.createElement('link'), {
					...{ rel: 'stylesheet', href: `${victim}/style.css` },
				}),
			);
		case '<iframe>':
			return element(Object.assign(document.createElement('iframe'), { src: `${victim}/` }));
		default:
			return NOTHING;
	}
}

/** A frame without an origin: it says `Origin: null`. */
async function sandboxed(
	report: Report,
	context: BrowserContext,
	soft: Unprotected,
	origin: string,
	asset: string,
) {
	report.begin('a frame without an origin');
	const page = await context.newPage();
	for (const attack of ATTACKS.slice(0, 4)) {
		const answers: string[] = [];
		for (const victim of [`http://localhost:${soft.port}`, origin]) {
			await page.goto(`http://127.0.0.1:${soft.port}/sandbox`);
			const frame = page.frames().find((one) => one.parentFrame() !== null)!;
			await frame.waitForSelector('body');
			soft.reset();
			const got = await play(page, frame, attack, victim, asset);
			answers.push(victim !== origin && soft.changed ? 'all log-ins ended' : got);
		}
		line(report, attack, answers);
	}
	await page.close();
}

/** A name that leads to this machine and to our port: its pages are of one origin with it. */
async function rebinding(report: Report, context: BrowserContext, { port, holdfast }: Target) {
	report.begin('a name that is made to lead here');
	for (const name of ['evil.test', '127.0.0.1']) {
		// The log-in that the right name gets is not to take the place of the one that is attacked.
		const own = name === 'evil.test' ? context : await context.browser()!.newContext();
		const page = await own.newPage();
		const answer = await page.goto(`http://${name}:${port}/health`);
		const ticket = new URL(holdfast.address()).hash.replace('#ticket=', '');
		const got = await page.evaluate(async (ticket) => {
			const body = JSON.stringify({ ticket });
			const login = await fetch('/api/login', { method: 'POST', body });
			const files = await fetch('/');
			const { key } = login.ok ? ((await login.json()) as { key: string }) : { key: 'none' };
			const socket = new WebSocket(`ws://${location.host}/`, ['holdfast', `key.${key}`]);
			const opened = await new Promise<string>((resolve) => {
				socket.onopen = () => resolve('open');
				socket.onerror = () => resolve('refused');
			});
			socket.close();
			return `POST /api/login ${login.status}, GET / ${files.status}, socket ${opened}`;
		}, ticket);
		report.line(
			`http://${name}:P, a ticket in hand`,
			name === 'evil.test'
				? '421: POST /api/login 421, GET / 421, socket refused'
				: '200: POST /api/login 200, GET / 200, socket open',
			`${answer!.status()}: ${got}`,
		);
		await (own === context ? page : own).close();
	}
}

/** Another port can put cookies beside ours. */
async function tossing(
	report: Report,
	context: BrowserContext,
	{ port }: Target,
	foreign: number,
	ours: Page,
) {
	report.begin('a page on another port that sets our cookie');
	const page = await context.newPage();
	await page.goto(`http://127.0.0.1:${foreign}/foreign`);
	await page.evaluate((name) => {
		document.cookie = `${name}=tossed; path=/`;
		document.cookie = `${name}=tossed; path=/api`;
		document.cookie = `${name}=tossed.9999999999.x; path=/api/login`;
	}, `holdfast_${port}`);
	await page.close();
	await ours.reload();
	const status = ours.locator('[role=status]');
	await expect(status).toHaveText('Pi is ready.');
	report.line('our page, loaded again', 'Pi is ready.', (await status.textContent())!);
}

interface Unprotected {
	port: number;
	/** It was locked, or logged in to, by anyone at all. */
	changed: boolean;
	reset(): void;
	close(): Promise<void>;
}

/** Everything that Holdfast is not: answers whoever asks. It serves the foreign pages as well. */
async function startUnprotected(): Promise<Unprotected> {
	const sockets = new WebSocketServer({ noServer: true, handleProtocols: ([first]) => first! });
	const server = createServer((request, response) => {
		if (request.method === 'POST') state.changed = true;
		response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '*');
		response.setHeader('Access-Control-Allow-Credentials', 'true');
		response.setHeader('Access-Control-Allow-Headers', 'Authorization');
		const path = request.url ?? '';
		if (path.endsWith('.js')) response.setHeader('Content-Type', 'text/javascript').end('void 0');
		else if (path.endsWith('.css')) response.setHeader('Content-Type', 'text/css').end('a{}');
		else if (path.endsWith('.svg')) {
			response.setHeader('Content-Type', 'image/svg+xml');
			response.end('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>');
		} else {
			response.setHeader('Content-Type', 'text/html');
			const frame = '<iframe sandbox="allow-scripts" srcdoc="<body>In it.</body>"></iframe>';
			response.end(`<body>A page.${path === '/sandbox' ? frame : ''}</body>`);
		}
	});
	server.on('upgrade', (request, socket, head) =>
		sockets.handleUpgrade(request, socket, head, (open) => open.on('error', () => {})),
	);
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const state: Unprotected = {
		port: (server.address() as AddressInfo).port,
		changed: false,
		reset: () => (state.changed = false),
		close: () =>
			new Promise((resolve) => {
				for (const open of sockets.clients) open.terminate();
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
	return state;
}
