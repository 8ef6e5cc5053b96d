import { bash, expect, firstTurn, processes, test } from './holdfast.ts';

/** A command that would run for a minute, with a child, a grandchild and one that left its group. */
const family = (mark: string) =>
	`echo begun; (setsid sleep 61.${mark} & sh -c 'sleep 62.${mark}; true' & wait) & ` +
	`for i in $(seq 60); do echo "step $i"; sleep 1.0${mark}; done`;

const mark = () => String(Math.floor(Math.random() * 1e9));

test('"Stop command" ends the command with all its children, and Pi goes on in the same turn', async ({
	page,
	start,
	ui,
}) => {
	const id = mark();
	const { url, provider } = await start((request) =>
		firstTurn(request) ? [{ text: 'I run it.' }, bash(family(id))] : [{ text: 'It was stopped.' }],
	);
	await page.goto(url);
	await expect(ui.button('Stop command')).toHaveCount(0);
	await ui.send('Run the build.');

	await expect(ui.commands).toContainText('step 1');
	await expect(ui.commands).toContainText('step 2');
	await expect(ui.commands.getByText(/^0:0\d$/)).toBeVisible();
	await expect(page.getByText('stops the command')).toBeVisible();
	expect(processes(`.${id}`).length).toBeGreaterThanOrEqual(3);

	await ui.button('Stop command').click();
	await expect(() => expect(processes(id)).toEqual([])).toPass({ timeout: 1_000 });
	await expect(ui.commands).toContainText('stopped by you');
	await expect(ui.commands).toContainText('step 1');
	await expect(ui.button('Stop command')).toHaveCount(0);

	await expect(ui.answers).toHaveText(['I run it.', 'It was stopped.']);
	await ui.rested();
	await expect(ui.prompts).toHaveCount(1);
	const result = provider.requests.at(-1)!.messages.at(-1)!;
	expect(result.role).toBe('tool');
	expect(result.text).toMatch(/^begun\nstep 1\n[^]*Command aborted$/);
});

test('of two commands at once one is stopped, and the other ends by itself with success', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start((request) =>
		firstTurn(request)
			? [
					bash('echo slow; sleep 60'),
					bash('echo quick; until [ -e go ]; do sleep 0.1; done; echo over'),
				]
			: request.messages.some(({ text }) => text.includes('over'))
				? [{ text: 'One of two.' }]
				: [{ text: 'None.' }],
	);
	await page.goto(url);
	await ui.send('Run both.');
	await expect(ui.button('Stop command')).toHaveCount(2);
	const [slow, quick] = [ui.commands.nth(0), ui.commands.nth(1)];
	await expect(slow).toContainText('slow');

	await slow.getByRole('button', { name: 'Stop command' }).click();
	await expect(slow).toContainText('stopped by you');
	await expect(quick.getByRole('button', { name: 'Stop command' })).toBeVisible();

	await ui.send('!touch go');
	await expect(quick).toContainText('done');
	await expect(quick).toContainText('over');
	await expect(ui.answers).toHaveText(['One of two.']);
	const results = provider.requests.at(-1)!.messages.filter(({ role }) => role === 'tool');
	expect(results.map(({ text }) => text.endsWith('Command aborted'))).toEqual([true, false]);
});

test('Escape stops the command, then, when none runs, the run', async ({ page, start, ui }) => {
	const { url } = await start((request) =>
		firstTurn(request)
			? [bash('echo begun; sleep 60')]
			: [{ text: 'Going on and' }, { hang: true }],
	);
	await page.goto(url);
	await ui.send('Run it.');
	await expect(ui.commands).toContainText('begun');
	await page.keyboard.press('Escape');
	await expect(ui.commands).toContainText('stopped by you');

	await expect(ui.answers).toContainText('Going on and');
	await expect(page.getByText('stops the run')).toBeVisible();
	await page.keyboard.press('Escape');
	await expect(page.getByText('stopped here')).toBeVisible();
	await ui.rested();
});

test('a command of the person can be stopped as well', async ({ page, start, ui }) => {
	const { url } = await start(() => [{ text: 'Not asked.' }]);
	await page.goto(url);
	await ui.send('!echo mine; sleep 60');
	await expect(ui.commands).toContainText('mine');
	await ui.button('Stop command').click();
	await expect(ui.commands).toContainText('stopped by you');
	await expect(ui.button('Stop command')).toHaveCount(0);
});

test('a reload in mid-command shows its output, its time and its button, and ends alike', async ({
	page,
	context,
	start,
	ui,
}) => {
	const { url } = await start((request) =>
		firstTurn(request)
			? [bash('echo before; until [ -e go ]; do sleep 0.1; done; echo after')]
			: [{ text: 'Through.' }],
	);
	await page.goto(url);
	await ui.send('Run it.');
	await expect(ui.commands).toContainText('before');

	const stayed = await context.newPage();
	await stayed.goto(page.url());
	await expect(stayed.getByRole('button', { name: 'Stop command' })).toBeVisible();
	await page.reload();
	await expect(ui.commands).toContainText('before');
	await expect(ui.button('Stop command')).toBeVisible();

	await ui.send('!touch go');
	await expect(ui.answers).toHaveText(['Through.']);
	await ui.rested();
	const html = (one: typeof page) => one.getByRole('log').innerHTML();
	await expect(async () => expect(await html(page)).toBe(await html(stayed))).toPass();
});

test('a failed command shows its exit code, and output keeps its colours', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start((request) =>
		firstTurn(request)
			? [bash(String.raw`printf '10%%\r100%%\n\033[31mred\033[0m\n'; exit 3`)]
			: [{ text: 'It failed.' }],
	);
	await page.goto(url);
	await ui.send('Run it.');
	await expect(ui.commands).toContainText('exit 3');
	await expect(ui.commands).toContainText('100%');
	await expect(ui.commands).not.toContainText('10%1');
	const red = ui.commands.getByText('red', { exact: true });
	const plain = ui.commands.getByText('100%', { exact: true });
	const colour = (element: Element) => getComputedStyle(element).color;
	expect(await red.evaluate(colour)).not.toBe(await plain.evaluate(colour));
});
