import type { Browser } from 'playwright';
import { login } from '../login.ts';
import { startForward } from './forward.ts';
import { change, post, send, upgrade } from './raw-http.ts';
import type { Report } from './report.ts';
import { ready, type Stage, type Target } from './stage.ts';

/** Reached by another address, as it is meant to be: with log-ins of that address only. */
export async function reached(
	report: Report,
	{ browser, target }: Stage,
	published: Target,
	origin: string,
) {
	await behindTls(report, published, origin);
	await forwarded(report, browser, target);
}

/** What a reverse proxy would pass on, which speaks TLS to the browser. */
async function behindTls(report: Report, { port, holdfast }: Target, origin: string) {
	const { host } = new URL(origin);
	report.begin(`--origin ${origin}`);
	report.line('the address that is printed', origin, new URL(holdfast.url).origin);
	const ticket = new URL(holdfast.address()).hash.replace('#ticket=', '');
	const none = { origin, cookie: '', key: '', protocols: [], headers: { Cookie: '', Origin: '' } };
	const first = post('/api/login', none, JSON.stringify({ ticket }));
	const { status, text } = await send(port, first);
	report.line('POST /api/login {ticket}', '200', String(status));
	const set = /^Set-Cookie: (.*)$/im.exec(text)?.[1] ?? '';
	const flags = ['Secure', 'HttpOnly', 'SameSite=Strict', 'Path=/'];
	report.line(
		'its cookie',
		flags.join(', '),
		flags.filter((flag) => set.split('; ').includes(flag)).join(', '),
	);
	const cookie = set.split(';')[0]!;
	const { key } = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as {
		key: string;
	};
	const credentials = { ...none, cookie, key, protocols: ['holdfast', `key.${key}`] };
	const status101 = async (knock = upgrade(credentials)) =>
		String((await send(port, knock)).status);
	report.line('upgrade, Host of that address', '101', await status101());
	const local = `127.0.0.1:${port}`;
	const passed = change(upgrade(credentials), 'Host', local);
	report.line('upgrade, Host of the loopback address', '101', await status101(passed));
	const plain = change(upgrade(credentials), 'Origin', `http://${host}`);
	report.line(`upgrade, Origin http://${host}`, '401', await status101(plain));
	const here = change(change(passed, 'Origin', `http://${local}`), 'Cookie', renamed(cookie, port));
	report.line('upgrade, that log-in at the loopback address', '401', await status101(here));
	const upper = change(upgrade(credentials), 'Origin', origin.toUpperCase());
	report.line('upgrade, Origin in upper case', '403', await status101(upper));
}

const renamed = (cookie: string, port: number) =>
	cookie.replace(/^holdfast_\d+/, `holdfast_${port}`);

async function forwarded(report: Report, browser: Browser, { port, holdfast }: Target) {
	report.begin('another port that leads here, as with ssh -L');
	const relay = await startForward(port);
	const context = await browser.newContext();
	try {
		const { hash } = new URL(holdfast.address());
		const page = await context.newPage();
		await page.goto(`${relay.origin}/${hash}`);
		await ready(page);
		report.line('a page, let in there', 'ready', 'ready');
		const there = await login(`${relay.origin}/${new URL(holdfast.address()).hash}`);
		const direct = await login(holdfast.address());
		const status = async (knock: Parameters<typeof send>[1]) =>
			String((await send(relay.port, knock)).status);
		report.line('upgrade, its own log-in', '101', await status(upgrade(there)));
		const brought = {
			...there,
			cookie: renamed(direct.cookie, relay.port),
			key: direct.key,
			protocols: direct.protocols,
		};
		report.line('upgrade, the log-in of the first port', '401', await status(upgrade(brought)));
		const call = post('/api/lock', brought);
		report.line('POST /api/lock, the log-in of the first port', '401', await status(call));
		const back = { ...direct, cookie: renamed(there.cookie, port), protocols: there.protocols };
		const answer = await send(port, upgrade(back));
		report.line('upgrade at the first port, with the log-in of this', '401', String(answer.status));
	} finally {
		await context.close();
		await relay.close();
	}
}
