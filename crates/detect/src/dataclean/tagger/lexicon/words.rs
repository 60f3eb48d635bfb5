//! The word lists of the lexicon: job titles, diseases, parts of addresses. Data only.

use super::parts::*;

/// Russian nouns, declined by the lexicon.
pub(crate) const NOUNS: &[(&str, u32)] = &[
    (JOBS, JOB),
    (JOBS_WEAK, JOB_WEAK),
    (DISEASES, DISEASE),
    (
        "водитель машинист слесарь инженер менеджер специалист врач учитель преподаватель тренер монтажник наладчик продавец аппаратчик учительница",
        JOB_OBJECT,
    ),
    (DISEASES_WEAK, DISEASE_WEAK),
    ("диагноз патология", DISEASE_CUE),
    (
        "улица переулок бульвар площадь набережная аллея тупик проезд шоссе проспект микрорайон",
        STREET,
    ),
    ("город поселок деревня село станица хутор аул", TOWN),
    ("область край район республика округ", REGION),
    ("дом корпус строение владение литера", HOUSE),
    ("квартира офис помещение комната кабинет подъезд этаж", FLAT),
];

/// Russian adjectives, declined by the lexicon.
pub(crate) const ADJECTIVES: &[(&str, u32)] = &[
    (JOB_ADJECTIVES, JOB_BEFORE),
    (DISEASE_ADJECTIVES, DISEASE_BEFORE),
    (DISEASE_GENERAL_ADJECTIVES, DISEASE_GENERAL),
    (
        "главнокомандующий управляющий заведующий военнослужащий уполномоченный дежурный горничная ученый",
        JOB,
    ),
];

/// Words that stand as they are.
pub(crate) const FIXED: &[(&str, u32)] = &[
    (JOB_COMPLEMENTS, JOB_BEHIND),
    (DISEASE_COMPLEMENTS, DISEASE_BEHIND),
    ("и.о врио экс бывший вице", JOB_BEFORE),
    (
        "диагностирован диагностирована диагностировано диагностировали диагностирован страдает страдаю болен больна болеет болею",
        DISEASE_CUE,
    ),
    (
        "diagnosed diagnosis suffers suffering suffered",
        DISEASE_CUE,
    ),
    (
        "орви орз вич спид дцп ибс хобл ковид covid covid-19 коронавирус гэрб онмк вич-инфекция sars-cov-2 тэла всд оки хсн",
        DISEASE,
    ),
    (
        "hiv aids adhd copd ptsd ocd gerd ibs ards dvt uti tb covid covid-19",
        DISEASE,
    ),
    (
        "ул пр-т просп пр-кт пер пл наб б-р бул ш пр-д мкр мкрн туп ал",
        STREET,
    ),
    ("г гор пос п дер с ст-ца пгт рп п.г.т р.п х", TOWN),
    ("обл р-н респ ао", REGION),
    ("д корп стр к вл лит", HOUSE),
    ("кв оф пом ком каб эт под", FLAT),
    ("zip zipcode postcode postal", ZIP),
    ("россия рф", COUNTRY),
    (
        "usa uk us england scotland wales ireland canada australia germany france",
        COUNTRY,
    ),
    (
        "street st avenue ave road rd lane ln drive dr boulevard blvd way court ct place pl square sq terrace crescent cres highway hwy parkway pkwy close gardens walk row hill quay mews circle cir trail plaza alley",
        STREET,
    ),
    ("apt apartment suite ste unit flat floor room", FLAT),
    (
        "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy dc on bc qc ab nsw vic qld",
        STATE,
    ),
    ("посла послу послом послы послов", JOB),
    (EN_JOB_BEFORE, JOB_BEFORE),
    (EN_JOB_BEHIND, JOB_BEHIND),
    (EN_DISEASE_BEFORE, DISEASE_BEFORE),
    (
        "attention deficit eating sleep personality spectrum inflammatory multiple",
        DISEASE_BEFORE,
    ),
    (EN_DISEASE_BEHIND, DISEASE_BEHIND),
    (EN_DISEASE_GENERAL, DISEASE_GENERAL),
];

/// English nouns with their plurals.
pub(crate) const ENGLISH_NOUNS: &[(&str, u32)] = &[
    (EN_JOBS, JOB),
    (EN_JOBS_WEAK, JOB_WEAK),
    (EN_DISEASES, DISEASE),
    (EN_DISEASES_WEAK, DISEASE_WEAK),
];

const JOBS: &str = "директор президент вице-президент премьер-министр премьер министр замминистра депутат сенатор губернатор вице-губернатор
мэр вице-мэр спикер посол консул дипломат судья прокурор следователь адвокат юрист юрисконсульт нотариус полицейский полковник
подполковник майор капитан лейтенант генерал генерал-майор генерал-лейтенант генерал-полковник адмирал сержант солдат офицер
журналист корреспондент репортер редактор главред писатель поэт драматург сценарист режиссер продюсер актер актриса певец певица
музыкант композитор дирижер художник скульптор архитектор дизайнер фотограф хореограф балерина танцор телеведущий телеведущая
радиоведущий блогер врач доктор хирург терапевт педиатр кардиолог невролог онколог психиатр психолог стоматолог фельдшер медсестра
санитар фармацевт провизор гинеколог уролог окулист офтальмолог анестезиолог акушер ветеринар учитель преподаватель воспитатель
профессор доцент академик ректор проректор декан биолог историк экономист политолог социолог философ
археолог астроном инженер программист разработчик тестировщик аналитик бухгалтер аудитор экономист менеджер маркетолог рекрутер
логист кладовщик кассир продавец продавец-консультант товаровед бармен официант официантка повар шеф-повар пекарь кондитер
парикмахер косметолог водитель таксист дальнобойщик машинист летчик пилот стюардесса штурман космонавт астронавт моряк шкипер
электрик сантехник слесарь токарь фрезеровщик сварщик столяр плотник каменщик маляр штукатур монтажник крановщик грузчик
дворник уборщик уборщица охранник вахтер сторож секретарь секретарша секретарь-референт делопроизводитель пресс-секретарь
госсекретарь генсек переводчик библиотекарь архивариус риелтор брокер трейдер банкир бизнесмен фермер агроном
зоотехник лесник егерь рыбак шахтер геолог геодезист нефтяник металлург технолог диспетчер тренер футболист хоккеист теннисист
боксер пловец биатлонист лыжник фигурист шахматист баскетболист волейболист спортсмен спортсменка гимнаст гонщик вратарь
форвард священник епископ архиепископ митрополит патриарх кардинал имам муфтий раввин пастор монах король королева
царь император премьер-министр канцлер вице-канцлер полпред омбудсмен пожарный спасатель курьер почтальон
администратор супервайзер мерчендайзер копирайтер верстальщик корректор сисадмин девопс бизнес-аналитик эйчар
хедхантер кинолог криминалист эксперт-криминалист таможенник пограничник надзиратель конструктор инженер-конструктор
программист-разработчик энергетик метролог лаборант сметчик прораб бригадир мастер-наладчик секретарь-машинистка
врач-терапевт няня гувернантка сиделка домработница стилист визажист флорист ювелир портной швея модель-манекенщица
фотомодель диджей аниматор экскурсовод каскадер оперуполномоченный участковый детектив шериф командир координатор арбитр лидер гроссмейстер бортинженер солист солистка полузащитник правозащитник худрук парламентарий вождь рефери шахматистка экс-премьер премьер";
const JOBS_WEAK: &str =
    "начальник руководитель глава председатель сопредседатель зампред замглавы заместитель замдиректора помощник
советник специалист эксперт консультант куратор методист инспектор оператор мастер агент представитель
командующий атташе референт ассистент стажер член секретарь основатель гендиректор замначальника";
const JOB_ADJECTIVES: &str =
    "главный старший младший ведущий генеральный исполнительный коммерческий финансовый технический
операционный креативный художественный арт заслуженный народный верховный чрезвычайный полномочный первый действующий
системный сетевой личный торговый страховой научный медицинский медицинская участковый дежурный детский школьный
классный социальный военный судебный налоговый таможенный почтовый штатный внештатный независимый
региональный территориальный районный городской окружной федеральный государственный муниципальный
независимый кредитный инвестиционный ландшафтный графический дипломированный сертифицированный приглашенный
палубный авиационный горный пожарный выпускающий ответственный спортивный музыкальный литературный
официальный процедурный процедурная операционная";
const JOB_COMPLEMENTS: &str = "отдела отделов отделения отделением управления департамента департаментов службы сектора группы цеха участка смены склада
проекта проектов продукта продуктов направления филиала кафедры факультета лаборатории бюро штаба фракции комитета комиссии
совета правления директоров кадров продаж закупок маркетинга рекламы логистики производства качества безопасности
персонала персоналом данных баз сетей систем систему веб-сайтов приложений интерфейсов обороны финансов юстиции культуры
образования здравоохранения экономики энергетики транспорта спорта труда юстиции дел внутренних иностранных
правительства парламента администрации президента министра губернатора мэра директора главы председателя прокурора
госдумы думы сената палаты представителей сборной команды клуба школы университета института академии больницы
поликлиники клиники театра музея редакции газеты журнала телеканала партии полиции милиции армии флота войск
наук адвокатуры юстиции колл-центра контакт-центра столовой магазина ресторана кафе отеля гостиницы
поддержки разработки тестирования аналитики инноваций развития снабжения сбыта бухгалтерии канцелярии
секретариата архива библиотеки ведомства министерства агентства фонда ассоциации союза федерации
общественных связям охраны труда технологий информации информационных";

const DISEASES: &str = "грипп рак диабет астма туберкулез пневмония бронхит гастрит артрит гепатит инфаркт инсульт гипертония гипертензия
гипотония мигрень эпилепсия шизофрения депрессия аутизм деменция анемия лейкоз лейкемия лимфома меланома саркома карцинома
аденома миома киста фиброма липома цирроз остеохондроз остеопороз сколиоз артроз псориаз экзема дерматит крапивница
аллергия ангина тонзиллит фарингит ларингит трахеит ринит гайморит синусит отит конъюнктивит катаракта глаукома
миопия близорукость дальнозоркость астигматизм цистит пиелонефрит нефрит простатит уретрит эндометриоз мастопатия
панкреатит холецистит аппендицит колит энтероколит дисбактериоз геморрой грыжа радикулит неврит невралгия невроз
менингит энцефалит энцефалопатия атеросклероз стенокардия аритмия тахикардия брадикардия миокардит перикардит
тромбоз тромбофлебит варикоз аневризма сепсис перитонит корь краснуха ветрянка скарлатина дифтерия коклюш столбняк
бешенство холера чума малярия сифилис гонорея хламидиоз герпес кандидоз микоз педикулез чесотка сальмонеллез
дизентерия ботулизм бруцеллез токсоплазмоз боррелиоз ожирение подагра гипотиреоз гипертиреоз тиреоидит зоб рахит
преэклампсия бесплодие импотенция алкоголизм наркомания анорексия булимия паркинсонизм бронхопневмония
плеврит эмфизема коронавирус ревматизм волчанка саркоидоз муковисцидоз гемофилия тромбоцитопения лейкопения
гастродуоденит дуоденит эзофагит гастроэнтерит кардиомиопатия нефропатия ретинопатия нейропатия полинейропатия
пародонтит пародонтоз стоматит гингивит кариес пульпит гидроцефалия опухоль бронхоэктаз коронаровирус нейтропения
сальпингит вагинит эндокардит васкулит бурсит тендинит остеоартроз остеоартрит спондилез спондилоартрит коксартроз гонартроз";
const DISEASES_WEAK: &str = "болезнь синдром заболевание инфекция недостаточность расстройство нарушение порок язва перелом вывих
растяжение ушиб сотрясение травма ожог отек киста полип камень камня камни камней стеноз абсцесс флегмона кровотечение блокада
дистрофия атрофия гипоплазия дисплазия дефицит непереносимость лихорадка новообразование склероз паралич парез
интоксикация отравление обморожение отслоение отслойка пролапс протрузия экстрасистолия фибрилляция дискинезия деформация";
const DISEASE_ADJECTIVES: &str =
    " подострый рецидивирующий сахарный бронхиальный ишемический гипертонический артериальный
ревматоидный железодефицитный внебольничный внутрибольничный вирусный бактериальный атопический аллергический язвенный
злокачественный доброкачественный наследственный гестационный сердечный почечный печеночный дыхательный
легочный коронавирусный кишечный менингококковый ротавирусный энтеровирусный клещевой биполярный тревожный депрессивный
обсессивно-компульсивный посттравматический параноидный рассеянный черепно-мозговой 
межпозвонковый межпозвоночный паховый пупочный диафрагмальный мочекаменный желчнокаменный поликистозный метаболический
постковидный поллинозный вегетососудистый сосудистый церебральный
геморрагический ишемический транзиторный пароксизмальный трофический гнойный обструктивный обструктивная
лимфобластный миелоидный лимфоцитарный мононуклеозный церебральный деформирующий
гастроэзофагеальный рефлюксный эрозивный катаральный флегмонозный деструктивный 
   нейроциркуляторный синдромальный варикозный
папилломавирусный цитомегаловирусный аутоиммунный ";
const DISEASE_COMPLEMENTS: &str = "сердца легких легкого желудка печени почек почки мозга головного спинного кишки двенадцатиперстной толстой прямой кишечника
позвоночника отдела шейного поясничного грудного сустава суставов коленного тазобедренного бедра бедренной кости костей шейки
голени лодыжки плеча предплечья лучевой ключицы ребра ребер руки ноги молочной железы щитовидной предстательной поджелудочной
простаты матки яичника яичников мочевого пузыря желчного кожи крови гортани горла носа уха глаза глаз сетчатки
миокарда пищевода аорты артерий вен конечностей нижних верхних брюшной полости дыхательных путей мочевыводящих
альцгеймера паркинсона крона дауна туретта аспергера бехтерева гиршпрунга жильбера рейно меньера верльгофа лайма иценко-кушинга
типа степени стадии тяжести неуточненный неуточненная неуточненное средней легкой тяжелой сна внимания
личности поведения питания пищевого ритма обмена веществ развития зрения слуха роговицы хрусталика
раздраженного кишечника лактозы глютена витамина железа центральной нервной системы";

const EN_JOBS: &str = "engineer developer programmer architect accountant auditor lawyer attorney solicitor barrister paralegal notary doctor physician
surgeon nurse dentist pharmacist paramedic psychologist psychiatrist therapist pediatrician cardiologist oncologist radiologist
veterinarian midwife teacher professor lecturer tutor librarian scientist researcher biologist chemist physicist mathematician
economist statistician analyst journalist reporter columnist copywriter photographer designer illustrator painter sculptor
musician singer composer actor actress director-general chef waiter waitress bartender barista cashier receptionist secretary
bookkeeper recruiter realtor salesperson salesman electrician plumber carpenter welder mechanic machinist bricklayer
janitor firefighter paramedic policeman detective soldier sergeant lieutenant colonel admiral pilot astronaut sailor
dispatcher courier farmer fisherman miner geologist surveyor translator interpreter consultant economist banker
stockbroker underwriter actuary hairdresser tailor butcher baker gardener nanny babysitter housekeeper
ceo cfo cto coo cio cmo ciso devops sysadmin webmaster superintendent principal-investigator senator congressman
governor mayor ambassador diplomat judge prosecutor bailiff magistrate chancellor president vice-president
physiotherapist optometrist dietitian nutritionist anesthesiologist dermatologist gynecologist neurologist radiographer phlebotomist hygienist";
const EN_JOBS_WEAK: &str =
    "manager director officer administrator supervisor coordinator specialist technician representative executive
assistant clerk agent operator inspector adviser advisor instructor trainer coach driver editor producer writer
planner buyer trader broker strategist tester lead head chairman chairwoman chairperson partner associate
practitioner controller treasurer worker guard foreman estimator scheduler";
const EN_JOB_BEFORE: &str = "senior junior lead chief principal staff head deputy assistant associate vice executive general managing regional
national global international software hardware data machine learning product project program account sales marketing
finance financial business human resources hr it information technology technical systems system network security
cybersecurity cloud devops site reliability quality qa test operations supply chain logistics warehouse store
shop office administrative legal compliance risk investment credit loan insurance tax payroll procurement
purchasing public relations pr brand content social media digital creative art graphic ux ui web mobile
frontend front-end backend back-end full-stack fullstack full stack database civil mechanical electrical chemical
structural industrial aerospace biomedical process maintenance field customer service support success client
research clinical medical registered nurse dental physical occupational speech school elementary high math science english
history primary secondary university truck bus taxi delivery police fire army navy flight real estate
event executive personal private certified chartered licensed qualified night shift hotel restaurant kitchen sous
managing non-executive construction safety health environmental training recruitment talent acquisition community
development solutions enterprise revenue growth strategy people customs patent trial criminal corporate staff interim acting former";
const EN_JOB_BEHIND: &str =
    "of for engineering sales marketing operations finance product technology security research development staff
people resources human communications compliance design strategy growth data support analytics state education health";

const EN_DISEASES: &str = "diabetes asthma hypertension hypotension pneumonia bronchitis influenza flu cancer leukemia leukaemia lymphoma melanoma
carcinoma sarcoma tumor tumour glioma hepatitis cirrhosis gastritis appendicitis pancreatitis colitis arthritis osteoarthritis
osteoporosis psoriasis eczema dermatitis migraine epilepsy stroke dementia schizophrenia depression autism anorexia
bulimia anemia anaemia hemophilia thrombosis aneurysm angina arrhythmia tachycardia bradycardia fibrillation
tuberculosis malaria measles mumps rubella chickenpox smallpox cholera typhoid tetanus rabies syphilis gonorrhea chlamydia
herpes shingles meningitis encephalitis sepsis glaucoma cataract conjunctivitis tonsillitis sinusitis otitis
pharyngitis laryngitis cystitis nephritis pyelonephritis prostatitis endometriosis fibromyalgia gout lupus scoliosis
hernia hemorrhoid obesity hypothyroidism hyperthyroidism goiter sarcoidosis neuropathy retinopathy neuralgia sciatica
covid coronavirus monkeypox ebola eclampsia preeclampsia alcoholism insomnia narcolepsy vertigo tinnitus";
const EN_DISEASES_WEAK: &str =
    "disease syndrome disorder infection failure deficiency fracture ulcer injury insufficiency palsy dystrophy
sclerosis apnea allergy concussion embolism stenosis dysplasia edema attack intolerance fever";
const EN_DISEASE_BEFORE: &str = " rheumatoid iron deficiency
coronary artery heart cardiac congestive renal kidney liver hepatic lung pulmonary obstructive respiratory breast
prostate colon colorectal pancreatic ovarian cervical skin brain bladder thyroid gastric stomach peptic duodenal
celiac crohn alzheimer parkinson huntington hodgkin lyme hodgkin's non-hodgkin down tourette asperger
bipolar anxiety depressive panic post-traumatic obsessive-compulsive hyperactivity
autism obstructive cystic muscular cerebral urinary tract
bacterial viral fungal community-acquired allergic atopic bronchial gestational juvenile 
metastatic ischemic hemorrhagic vein atrial ventricular septic irritable bowel 
ulcerative gastroesophageal reflux hip femur wrist ankle rib spinal cord herniated hypertensive rheumatic postpartum 
high-grade low-grade early-stage late-stage end-stage diabetic alcoholic nonalcoholic fatty polycystic ovary autoimmune sickle cell lactose peanut pollen penicillin";
const EN_DISEASE_BEHIND: &str =
    "1 2 i ii iii iv mellitus vulgaris simplex zoster tremens nervosa hyperplasia";
const DISEASE_GENERAL_ADJECTIVES: &str = "острый хронический новый закрытый открытый детский первичный вторичный тяжелый легкий средний клинический системный красный пограничный диффузный узловой очаговый двусторонний правосторонний левосторонний боковой пищевой поверхностный врожденный приобретенный лекарственный генерализованный алкогольный токсический инфекционный";
const EN_DISEASE_GENERAL: &str = "acute chronic severe mild moderate recurrent type essential primary secondary major deep seasonal stage clinical system malignant benign transient borderline infectious";
